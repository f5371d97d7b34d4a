"""What every search promises, for each that there is, whatever came before."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import Outcome
from evolve.archive.records import EndedGeneration, ProgramRecord, Status
from evolve.config import KindWeights, SearchConfig
from evolve.program import Origin, PatchKind
from evolve.proposal import Choice, SearchSettings
from evolve.seams import Search
from evolve.search.evolution import Evolution
from tests.seams.plugins import loaded

Open = Callable[[SearchSettings], Search]
ALL = frozenset({PatchKind.DIFF, PatchKind.FULL, PatchKind.CROSS, PatchKind.FIX})
ASKED = range(1, 12)


@pytest.fixture(scope="module", params=["evolution", "ten lines of somebody else's"])
def open_search(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Open:
    if request.param == "evolution":
        return Evolution
    made: Open = loaded(tmp_path_factory.mktemp("plugins"), "my_search").Newest
    return made


def record(generation: int, parents: tuple[str, ...], score: float, behaviour: int, how: str) -> ProgramRecord:
    return ProgramRecord(
        generation=generation,
        commit=f"{generation:040x}",
        parents=parents,
        inspirations=(),
        island=0,
        origin=Origin(kind=PatchKind.DIFF, model="a", patch_name="a_patch", description=""),
        source_hash=f"hash{generation}",
        outcome=Outcome.EXCEPTION if how == "fails" else Outcome.OK,
        correct=how == "correct",
        combined_score=score,
        ceiling=None,
        quarantine="impossible" if how == "quarantined" else None,
        metrics={},
        behaviour=str(behaviour),
    )


@st.composite
def histories(draw: st.DrawFn) -> list[EndedGeneration]:
    """Generations in the order in which they ended: programs that are correct (often with the behaviour of another),
    fail or are quarantined; refusals, duplicates and failures; each made from a program that was there."""
    first = record(0, (), draw(st.floats(0, 30)), 0, draw(st.sampled_from(["correct", "fails"])))
    history = [EndedGeneration(generation=0, status=Status.EVALUATED, parent=None, program=first)]
    sound = [first.commit]
    numbers = draw(st.permutations(range(1, draw(st.integers(1, 25)))))
    for number in numbers:
        how = draw(st.sampled_from(["correct", "correct", "fails", "quarantined", "refused", "duplicate", "failed"]))
        parent = draw(st.sampled_from(sound))
        program = None
        status = Status.EVALUATED
        if how in ("correct", "fails", "quarantined"):
            program = record(number, (parent,), draw(st.floats(0, 30)), draw(st.integers(0, 9)), how)
            if how != "quarantined":
                sound.append(program.commit)
        else:
            status = Status(how)
        history.append(EndedGeneration(generation=number, status=status, parent=parent, program=program))
    return history


def settings_of(seed: int, *, elites: int = 5, inspirations: int = 2, offline: bool = False) -> SearchSettings:
    kinds = frozenset({PatchKind.DIFF, PatchKind.CROSS, PatchKind.TUNE}) if offline else ALL
    return SearchSettings(
        config=SearchConfig(
            elites=elites, inspirations=inspirations, kinds=KindWeights(diff=0.4, full=0.2, cross=0.2, fix=0.2)
        ),
        seed=seed,
        shares={"never": 0.0, "a": 1.0, "b": 2.0},
        kinds={"never": kinds, "a": kinds, "b": kinds},
    )


all_settings = st.builds(
    settings_of, st.integers(0, 99), elites=st.integers(1, 8), inspirations=st.integers(0, 3), offline=st.booleans()
)


def choices(search: Search) -> list[Choice]:
    return [search.choose(generation) for generation in ASKED]


def told(open_search: Open, settings: SearchSettings, history: list[EndedGeneration]) -> Search:
    search = open_search(settings)
    for ended in history:
        search.ended(ended)
    return search


@given(history=histories(), settings=all_settings)
def test_choosing_changes_nothing(open_search: Open, history: list[EndedGeneration], settings: SearchSettings) -> None:
    search = told(open_search, settings, history)
    asked = choices(search)
    assert choices(search) == asked
    assert [search.choose(generation) for generation in reversed(ASKED)] == asked[::-1]
    further = EndedGeneration(generation=99, status=Status.REFUSED, parent=history[0].program.commit, program=None)  # type: ignore[union-attr]
    search.ended(further)
    assert choices(search) == choices(told(open_search, settings, [*history, further]))


@given(history=histories(), settings=all_settings, share=st.floats(0, 1))
def test_a_history_taken_up_is_the_same_as_each_end_told(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings, share: float
) -> None:
    wanted = choices(told(open_search, settings, history))
    restored = open_search(settings)
    restored.restore(iter(history))
    assert choices(restored) == wanted
    cut = 1 + int(share * (len(history) - 1))
    resumed = open_search(settings)
    resumed.restore(history[:cut])
    for ended in history[cut:]:
        resumed.ended(ended)
    assert choices(resumed) == wanted


@given(history=histories(), settings=all_settings)
def test_what_is_chosen_is_on_record_and_can_be_believed(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings
) -> None:
    programs = {ended.program.commit: ended.program for ended in history if ended.program is not None}
    for choice in choices(told(open_search, settings, history)):
        shown = (choice.parent, *choice.inspirations)
        assert [programs[one.commit] for one in shown] == list(shown)
        assert [one.quarantine for one in shown] == [None] * len(shown)
        assert len({one.commit for one in shown}) == len(shown), "nothing is shown twice"


@given(history=histories(), settings=all_settings)
def test_what_is_asked_can_be_answered(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings
) -> None:
    for choice in choices(told(open_search, settings, history)):
        assert settings.shares[choice.model] > 0
        assert choice.kind in settings.kinds[choice.model]
        assert choice.inspirations or choice.kind is not PatchKind.CROSS


@given(history=histories(), settings=all_settings)
def test_two_of_one_seed_choose_the_same(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings
) -> None:
    first, second = (told(open_search, settings, history) for _ in range(2))
    assert choices(first) == choices(second)
