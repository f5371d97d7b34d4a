"""Claims about islands: which generation belongs to which, what is copied, and when an island is reset."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from evolve.archive.events import Status
from evolve.archive.ranking import rank_key
from evolve.archive.records import EndedGeneration, ProgramRecord
from evolve.search.islands import RESET_EVERY, Archipelago, Copy, Islands
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

    def move(self, moved: Iterable[Copy]) -> None:
        moved = list(moved)
        for island in {one.target for one in moved if one.reset}:
            self.on[island].clear()
        for one in moved:
            self.on[one.target][one.generation] = self.programs[one.generation]


@given(histories(), islands, every, st.integers(1, 8))
def test_bests_are_copied_to_the_next_island_and_the_worst_one_is_reset(
    history: list[EndedGeneration], count: int, every: int, elites: int
) -> None:
    settings = settings_of(1, elites=elites, islands=count, migrate_every=every)
    search, islands = Islands(settings), Archipelago(settings.config)
    known = Known(count)
    for ended in history:
        search.ended(ended)
        moved = islands.ended(ended)
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


def ends(number: int, score: float, costs: str) -> EndedGeneration:
    record = program(number, score, costs=costs, parents=(f"{0:040x}",) if number else ())
    parent = record.parents[0] if number else None
    return EndedGeneration(generation=number, status=Status.EVALUATED, parent=parent, program=record)


def refused(number: int) -> EndedGeneration:
    return EndedGeneration(generation=number, status=Status.REFUSED, parent=f"{0:040x}", program=None)


def test_an_island_reset_has_what_is_the_best_on_some_instance_and_nobodys_best() -> None:
    settings = settings_of(0, islands=2, migrate_every=2)
    search, islands = Islands(settings), Archipelago(settings.config)

    def after(ended: EndedGeneration) -> list[Copy]:
        search.ended(ended)
        return list(islands.ended(ended))

    assert after(ends(0, 1.0, "9 9 9")) == []
    after(ends(1, 5.0, "1 1 8"))
    first = after(ends(2, 2.0, "7 7 7"))
    assert first == [
        Copy(generation=1, source=0, target=1, reset=False),
        Copy(generation=2, source=1, target=0, reset=False),
    ]
    assert [search.choose(number).parent.generation for number in (3, 4)] == [1, 1]
    moved = [after(ends(3, 3.0, "6 6 1")), after(refused(4)), after(ends(5, 6.0, "1 1 7"))]
    assert moved == [[], [], []]
    assert after(refused(6)) == [Copy(generation=5, source=0, target=1, reset=False)]
    after(ends(7, 7.0, "1 1 6"))
    assert after(refused(8)) == [Copy(generation=3, source=0, target=1, reset=True)]
    assert [search.choose(number).parent.generation for number in (9, 10)] == [7, 3]


def test_a_best_that_ended_after_one_of_the_elites_that_behaves_alike_goes_to_an_island_reset() -> None:
    """Generation 1 takes longer than 3 and does the same: the earlier one is the best, the other the elite."""
    islands = Archipelago(settings_of(0, islands=2, migrate_every=1).config)
    alike = {number: program(number, 6.0, behaviour="alike") for number in (1, 3)}
    islands.ended(ends(0, 1.0, ""))
    for number in (3, 1):
        done = EndedGeneration(generation=number, status=Status.EVALUATED, parent=f"{0:040x}", program=alike[number])
        islands.ended(done)
    assert islands.ended(refused(2)) == []
    assert [moved.generation for moved in islands.ended(refused(4)) if moved.reset] == [1]
