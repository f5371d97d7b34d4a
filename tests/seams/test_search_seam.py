"""What every search promises, for each that there is, whatever came before."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import Outcome
from evolve.archive.events import Status
from evolve.archive.records import EndedGeneration, ProgramRecord
from evolve.core.program import PatchKind
from evolve.proposal import SearchSettings
from evolve.seams import Search
from evolve.search.lineage import FEW_LINES
from evolve.search.strategies import STRATEGIES, recall
from tests.seams.histories import ASKED, choices, histories, settings_of
from tests.seams.plugins import loaded

Open = Callable[[SearchSettings], Search]


@pytest.fixture(scope="module", params=[*STRATEGIES, "ten lines of somebody else's"])
def open_search(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Open:
    if request.param in STRATEGIES:
        return STRATEGIES[request.param]
    made: Open = loaded(tmp_path_factory.mktemp("plugins"), "my_search").Newest
    return made


all_settings = st.builds(
    settings_of,
    st.integers(0, 99),
    elites=st.integers(1, 8),
    inspirations=st.integers(0, 3),
    offline=st.booleans(),
    stagnation=st.sampled_from([0, 0, 3, 15]),
    by_instance=st.sampled_from([0.0, 0.5, 1.0]),
    unguided=st.sampled_from([0.0, 0.2, 1.0]),
    islands=st.sampled_from([2, 3]),
    migrate_every=st.sampled_from([1, 2, 5]),
    models=st.sampled_from(["weights", "bandit"]),
)


def opened_with(open_search: Open, settings: SearchSettings, history: list[EndedGeneration]) -> Search:
    search = open_search(settings)
    for ended in history:
        search.ended(ended)
    return search


@given(history=histories(), settings=all_settings)
def test_choosing_changes_nothing(open_search: Open, history: list[EndedGeneration], settings: SearchSettings) -> None:
    search = opened_with(open_search, settings, history)
    asked = choices(search)
    assert choices(search) == asked
    assert [search.choose(generation) for generation in reversed(ASKED)] == asked[::-1]
    further = EndedGeneration(generation=99, status=Status.REFUSED, parent=history[0].program.commit, program=None)  # type: ignore[union-attr]
    search.ended(further)
    assert choices(search) == choices(opened_with(open_search, settings, [*history, further]))


@given(history=histories(), settings=all_settings, share=st.floats(0, 1))
def test_a_history_taken_up_is_the_same_as_one_given_end_by_end(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings, share: float
) -> None:
    wanted = choices(opened_with(open_search, settings, history))
    restored = open_search(settings)
    recall(restored, iter(history))
    assert choices(restored) == wanted
    cut = 1 + int(share * (len(history) - 1))
    resumed = open_search(settings)
    recall(resumed, history[:cut])
    recall(resumed, history[cut:])
    assert choices(resumed) == wanted


@given(history=histories(), settings=all_settings, share=st.floats(0, 1))
def test_a_program_that_is_confirmed_stays_and_one_that_is_withdrawn_is_shown_no_more(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings, share: float
) -> None:
    search = opened_with(open_search, settings, history)
    programs = [ended.program for ended in history[1:] if ended.program is not None and ended.program.correct]
    wanted = choices(search)
    while programs:
        record = programs.pop(int(share * (len(programs) - 1)))
        search.confirmed(record)
        assert choices(search) == wanted
        search.confirmed(replace(record, outcome=Outcome.NONDETERMINISTIC))
        wanted = choices(search)
        assert not {record.commit} & {one.commit for choice in wanted for one in (choice.parent, *choice.inspirations)}
    assert wanted == choices(search)


@given(history=histories(), settings=all_settings)
def test_what_is_chosen_is_on_record_and_can_be_believed(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings
) -> None:
    programs = {ended.program.commit: ended.program for ended in history if ended.program is not None}
    for choice in choices(opened_with(open_search, settings, history)):
        shown = (choice.parent, *choice.inspirations)
        assert [programs[one.commit] for one in shown] == list(shown)
        assert [one.quarantine for one in shown] == [None] * len(shown)
        assert len({one.commit for one in shown}) == len(shown), "nothing is shown twice"


@given(history=histories(), settings=all_settings)
def test_what_is_asked_can_be_answered(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings
) -> None:
    for choice in choices(opened_with(open_search, settings, history)):
        assert settings.shares[choice.model] > 0
        assert choice.kind in settings.kinds[choice.model]
        assert choice.inspirations or choice.kind is not PatchKind.CROSS


def made_from(program: ProgramRecord) -> tuple[str, ...]:
    return (*program.parents, *(program.inspirations if program.origin.kind is PatchKind.CROSS else ()))


@given(history=histories(), settings=all_settings)
def test_nothing_is_shown_with_its_descendant_nor_crossed_with_its_ancestor(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings
) -> None:
    ancestors: dict[str, set[str]] = {}
    for ended in history:
        if (program := ended.program) is not None:
            above = made_from(program)
            ancestors[program.commit] = {*above, *(a for one in above for a in ancestors[one])}
    for choice in choices(opened_with(open_search, settings, history)):
        for other in choice.inspirations:
            assert other.commit not in ancestors[choice.parent.commit]
            assert choice.kind is not PatchKind.CROSS or choice.parent.commit not in ancestors[other.commit]


@given(history=histories(), settings=all_settings)
def test_no_inspiration_is_a_near_copy_of_the_parent(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings
) -> None:
    if open_search not in STRATEGIES.values():
        return
    ways: dict[str, dict[str, int]] = {}  # from each program up to those that it comes from: changed lines
    for ended in history:
        if (program := ended.program) is not None:
            above = ways[program.parents[0]].items() if program.parents else ()
            step = max(1, program.origin.lines or 0)
            ways[program.commit] = {program.commit: 0} | {commit: lines + step for commit, lines in above}
    for choice in choices(opened_with(open_search, settings, history)):
        up = ways[choice.parent.commit]
        for other in choice.inspirations:
            down = ways[other.commit]
            assert other.behaviour != choice.parent.behaviour
            assert min(up[commit] + down[commit] for commit in up.keys() & down.keys()) > FEW_LINES


@given(history=histories(), settings=all_settings)
def test_whether_it_is_guided_is_decided_by_nothing_but_seed_and_number(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings
) -> None:
    if open_search not in STRATEGIES.values():
        return  # your own strategy may guide as it likes
    guided = [choice.guided for choice in choices(opened_with(open_search, settings, history))]
    assert guided == [choice.guided for choice in choices(opened_with(open_search, settings, history[:1]))]


@given(history=histories(), settings=all_settings)
def test_two_of_one_seed_choose_the_same(
    open_search: Open, history: list[EndedGeneration], settings: SearchSettings
) -> None:
    first, second = (opened_with(open_search, settings, history) for _ in range(2))
    assert choices(first) == choices(second)
