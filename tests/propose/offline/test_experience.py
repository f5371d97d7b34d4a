"""What a run has seen decides what is tried next, and a program that fails is repaired."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.evaluation import Outcome
from evaluator.task import Instance, Task
from evolve.core.program import PatchKind
from evolve.lang.languages import language_of
from evolve.patch import apply_patch, parse_patch
from evolve.patch.features import features
from evolve.proposal import Change, Choice, Request
from evolve.propose.offline.ingredients import insert, load_library
from evolve.propose.offline.outline import Outline
from evolve.propose.offline.proposer import OfflineProposer
from evolve.propose.offline.wiring import result_functions, without_start
from evolve.propose.requests import Requests
from tests.loop.by_hand import begun
from tests.loop.killing import offline
from tests.propose.offline.placement import ENTRY, request_for, run_on

ELSEWHERE = "f" * 40


def with_changes(request: Request, changes: Sequence[Change]) -> Request:
    return replace(request, changes=tuple(changes))


def failing(request: Request, outcome: Outcome) -> Request:
    """The request to repair its parent, which ended like this."""
    evaluation = replace(request.parent.evaluation, outcome=outcome, combined_score=0.0)
    return replace(request, kind=PatchKind.FIX, parent=replace(request.parent, evaluation=evaluation))


def added(proposer: OfflineProposer, source: str, changes: Sequence[Change], count: int = 60) -> Counter[str]:
    """How often each function is added in `count` proposals."""
    found: Counter[str] = Counter()
    for generation in range(count):
        edit = proposer.propose(with_changes(request_for(source, generation=generation), changes))
        assert edit is not None
        found.update(features(source, edit.source))
    return found


@pytest.mark.slow
def test_what_gained_in_this_run_is_tried_more_often_and_what_never_did_less(
    proposer: OfflineProposer, initial: str
) -> None:
    before = added(proposer, initial, [])
    for gained in (True, False):
        history = [Change(parent=ELSEWHERE, features=("add fill_memory",), gained=gained)] * 20
        after = added(proposer, initial, history)
        if gained:
            assert after["add fill_memory"] > 1.3 * before["add fill_memory"] > 0
        else:
            assert 2 * after["add fill_memory"] < before["add fill_memory"]


def test_the_direction_in_which_a_constant_gained_is_likelier(proposer: OfflineProposer, grown: list[str]) -> None:
    source = next(text for text in grown if "KICK_ITERATIONS = " in text)
    history = [Change(parent=ELSEWHERE, features=("raise KICK_ITERATIONS",), gained=True)] * 20
    history += [Change(parent=ELSEWHERE, features=("lower KICK_ITERATIONS",), gained=False)] * 20
    found = added(proposer, source, history, count=120)
    assert found["raise KICK_ITERATIONS"] > 3 * found["lower KICK_ITERATIONS"]


def test_a_change_that_the_parent_has_had_is_not_made_again(proposer: OfflineProposer, grown: list[str]) -> None:
    history: list[Change] = []
    source = grown[-1]
    parent = request_for(source).parent.program.commit
    small = 0
    for generation in range(20):
        edit = proposer.propose(with_changes(request_for(source, generation=generation), history))
        assert edit is not None
        changed = features(source, edit.source)
        if 0 < len(changed) < 8:  # of more, only the first are known
            assert changed not in [change.features for change in history]
            small += 1
        history.append(Change(parent=parent, features=changed, gained=False))
    assert small > 5


def test_where_a_parent_has_had_everything_something_is_proposed_all_the_same() -> None:
    source = "# EVOLVE-BLOCK-START\nWIDTH = 10\n\n\ndef solve(x):\n    return x * WIDTH\n# EVOLVE-BLOCK-END\n"
    parent = request_for(source).parent.program.commit
    history = [Change(parent=parent, features=(f"{verb} WIDTH",), gained=False) for verb in ("raise", "lower")]
    request = with_changes(request_for(source), history)
    assert OfflineProposer(None, entry_point="solve").propose(request) is not None


def test_a_request_tells_what_each_program_of_the_run_changed_and_whether_it_gained(tmp_path: Path) -> None:
    with begun(tmp_path / "run", offline(tmp_path, parallel=1, generations=8)) as run:
        run.go()
        archive = run.archive.reader
        requests = Requests(archive, seed=0, elites=4)
        assert archive.best is not None
        choice = Choice(kind=PatchKind.DIFF, island=0, parent=archive.best, inspirations=(), model="offline")
        changes = requests.make(99, 0, choice, [], None).changes
        assert changes == requests.make(99, 1, choice, [], None).changes
        made = [program for program in archive.programs if program.parents]
        assert [change.features for change in changes] == [program.origin.features for program in made]
        for change, program in zip(changes, made, strict=True):
            parent = archive.find(program.parents[0])
            assert change.parent == parent.commit
            assert change.gained == (
                (program.correct, program.combined_score) > (parent.correct, parent.combined_score)
            )
        assert {change.gained for change in changes} == {True, False}


# -- mending ---------------------------------------------------------------------------------------------------------


def test_a_program_that_fails_everywhere_begins_with_a_constructor_instead(
    proposer: OfflineProposer, initial: str, task: Task
) -> None:
    instances = task.suite("tight").instances
    solved = 0
    for generation in range(10):
        request = failing(request_for(initial, generation=generation), Outcome.EXCEPTION)
        answer = parse_patch(proposer.answer(request, None, print).text, PatchKind.FIX)
        child = apply_patch(answer, initial)
        if "begin_with_" in answer.name:
            assert "raise ValueError" not in child
            assert result_functions(Outline(child, ENTRY))
            solved += answers_all(child, instances)
    assert not answers_all(initial, instances)
    assert solved


def answers_all(source: str, instances: Sequence[Instance]) -> bool:
    try:
        return all(verdict.outcome is Outcome.OK for verdict in run_on(source, instances))
    except (ValueError, AttributeError):  # no placement, or an operator that was handed none
        return False


def test_next_to_a_program_that_works_one_that_takes_too_long_is_made_shorter(
    proposer: OfflineProposer, grown: list[str]
) -> None:
    found: Counter[str] = Counter()
    for generation in range(40):
        request = failing(request_for(grown[-1], inspirations=grown[2:3], generation=generation), Outcome.CPU_LIMIT)
        edit = proposer.propose(request)
        assert edit is not None
        found[edit.name.partition("_")[0]] += 1
    assert found["lower"] > 20
    assert not found["raise"] and not found["begin"]


def test_only_python_programs_are_repaired(folder: Path) -> None:
    assert PatchKind.FIX in OfflineProposer(folder, entry_point=ENTRY).kinds
    assert PatchKind.FIX not in OfflineProposer(None, entry_point="", language=language_of("program.c")).kinds


START = """\
# EVOLVE-BLOCK-START
def better(one, other):
    return other if one is None else max(one, other)


def solve(x, y):
    \"\"\"Solve it.\"\"\"
    # a comment
    z = 1 // x
    found = z
    found = better(found, y)
    found = better(found, z)
    return found
# EVOLVE-BLOCK-END
"""


def test_a_start_taken_out_leaves_what_works_without_it() -> None:
    source = without_start(Outline(START, "solve"))
    assert source is not None
    assert "better(found, y)" in source and "better(found, z)" not in source and "z = " not in source
    assert '"""Solve it."""' in source
    space: dict[str, Any] = {}
    exec(source, space)
    assert space["solve"](0, 5) == 5
    assert without_start(Outline(source, "solve")) is None


@pytest.mark.parametrize(
    "body", ["def solve(x): return x\n", "solve = max\n", "def solve(x):\n    if x:\n        return 1\n", ""]
)
def test_a_start_that_cannot_be_taken_out_is_left_alone(body: str) -> None:
    assert without_start(Outline(f"# EVOLVE-BLOCK-START\n{body}# EVOLVE-BLOCK-END\n", "solve")) is None


def test_every_constructor_of_placement_begins_from_nothing(folder: Path, initial: str, task: Task) -> None:
    library = load_library(folder)
    source = without_start(Outline(initial, ENTRY))
    assert source is not None
    constructors = [item for item in library.operators if item.constructs]
    assert len(constructors) >= 8
    for item in constructors:
        done = insert(library, Outline(source, ENTRY), item, random.Random(0))
        assert done is not None
        assert answers_all(done[0], task.suite("adrs").instances[:3]), item.name
