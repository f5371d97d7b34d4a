"""Claims about islands: which generation belongs to which, what is copied, and when one is begun anew."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from evolve.archive.ranking import rank_key
from evolve.archive.records import EndedGeneration, Migration, ProgramRecord, Status
from evolve.search.evolution import Evolution
from evolve.search.islands import RESET_EVERY
from tests.seams.histories import choices, histories, settings_of
from tests.search.programs import program

islands = st.integers(2, 4)
every = st.integers(1, 3)


class Known:
    """Which programs are known on which island, and how many generations have ended: by the record alone."""

    def __init__(self, count: int) -> None:
        self.on: list[dict[int, ProgramRecord]] = [{} for _ in range(count)]
        self.programs: dict[int, ProgramRecord] = {}
        self.ended = 0

    def best(self, island: int) -> ProgramRecord | None:
        correct = [record for record in self.on[island].values() if record.correct]
        return min(correct, key=rank_key, default=None)

    def add(self, ended: EndedGeneration) -> None:
        self.ended += ended.generation > 0
        record = ended.program
        if record is None or record.quarantine is not None:
            return
        self.programs[record.generation] = record
        for island, known in enumerate(self.on):
            if ended.generation == 0 or island == (ended.generation - 1) % len(self.on):
                known[record.generation] = record

    def move(self, moved: Iterable[Migration]) -> None:
        moved = list(moved)
        for island in {one.target for one in moved if one.reset}:
            self.on[island].clear()
        for one in moved:
            self.on[one.target][one.generation] = self.programs[one.generation]


@given(histories(), islands, every, st.integers(1, 8))
def test_bests_are_copied_to_the_next_island_and_the_worst_one_is_begun_anew(
    history: list[EndedGeneration], count: int, every: int, elites: int
) -> None:
    search = Evolution(settings_of(1, elites=elites, islands=count, migrate_every=every))
    known = Known(count)
    for ended in history:
        moved = search.ended(ended)
        known.add(ended)
        assert not moved or (ended.generation > 0 and known.ended % every == 0)
        bests = [known.best(island) for island in range(count)]
        renewed = {one.target for one in moved if one.reset}
        for one in moved:
            assert one.source != one.target
            assert one.generation in known.on[one.source]
            if not one.reset:
                best = bests[one.source]
                assert best is not None and best.generation == one.generation
                assert one.target == (one.source + 1) % count and one.target not in renewed
                assert one.generation not in known.on[one.target]
        assert len(renewed) <= 1
        for island in renewed:
            assert known.ended % (every * RESET_EVERY) == 0
            worst = bests[island]
            others = [best for other, best in enumerate(bests) if other != island and best is not None]
            assert others and (worst is None or all(rank_key(best) <= rank_key(worst) for best in others))
        known.move(moved)
        here = [{record.commit for record in on.values()} for on in known.on]
        for number, choice in enumerate(choices(search), start=1) if any(here) else ():
            assert choice.island == (number - 1) % count
            assert {choice.parent.commit, *(other.commit for other in choice.inspirations)} <= here[choice.island]


@given(histories(), islands, every, st.floats(0, 1))
def test_what_is_copied_follows_from_the_history_alone(
    history: list[EndedGeneration], count: int, every: int, share: float
) -> None:
    settings = settings_of(2, elites=3, islands=count, migrate_every=every)
    told, restored, resumed = (Evolution(settings) for _ in range(3))
    wanted = [moved for ended in history for moved in told.ended(ended)]
    assert list(restored.restore(iter(history))) == wanted
    cut = int(share * len(history))
    found = list(resumed.restore(history[:cut]))
    assert [*found, *(moved for ended in history[cut:] for moved in resumed.ended(ended))] == wanted


def ends(number: int, score: float, costs: str) -> EndedGeneration:
    record = program(number, score, costs=costs, parents=(f"{0:040x}",) if number else ())
    parent = record.parents[0] if number else None
    return EndedGeneration(generation=number, status=Status.EVALUATED, parent=parent, program=record)


def refused(number: int) -> EndedGeneration:
    return EndedGeneration(generation=number, status=Status.REFUSED, parent=f"{0:040x}", program=None)


def test_an_island_begun_anew_has_what_is_the_best_on_some_instance_and_nobodys_best() -> None:
    search = Evolution(settings_of(0, islands=2, migrate_every=2))
    assert search.ended(ends(0, 1.0, "9 9 9")) == []
    search.ended(ends(1, 5.0, "1 1 8"))
    first = search.ended(ends(2, 2.0, "7 7 7"))
    assert first == [
        Migration(generation=1, source=0, target=1, reset=False),
        Migration(generation=2, source=1, target=0, reset=False),
    ]
    assert [search.choose(number).parent.generation for number in (3, 4)] == [1, 1]
    moved = [search.ended(ends(3, 3.0, "6 6 1")), search.ended(refused(4)), search.ended(ends(5, 6.0, "1 1 7"))]
    assert moved == [[], [], []]
    assert search.ended(refused(6)) == [Migration(generation=5, source=0, target=1, reset=False)]
    search.ended(ends(7, 7.0, "1 1 6"))
    assert search.ended(refused(8)) == [Migration(generation=3, source=0, target=1, reset=True)]
    assert [search.choose(number).parent.generation for number in (9, 10)] == [7, 3]


def test_a_best_that_ended_after_one_of_the_elites_that_behaves_alike_goes_to_an_island_begun_anew() -> None:
    """Generation 1 takes longer than 3 and does the same: the earlier one is the best, the other the elite."""
    search = Evolution(settings_of(0, islands=2, migrate_every=1))
    alike = {number: program(number, 6.0, behaviour="alike") for number in (1, 3)}
    search.ended(ends(0, 1.0, ""))
    for number in (3, 1):
        done = EndedGeneration(generation=number, status=Status.EVALUATED, parent=f"{0:040x}", program=alike[number])
        search.ended(done)
    assert search.ended(refused(2)) == []
    assert [moved.generation for moved in search.ended(refused(4)) if moved.reset] == [1]
