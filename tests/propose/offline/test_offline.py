"""What the offline proposer promises: patches that apply, of the kind asked for, the same for the same request."""

import os
import random
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from evolve.core.program import PatchKind, evolve_regions, normalised_hash
from evolve.patch import apply_patch, parse_patch
from evolve.proposal import Request
from evolve.propose.llm_proposer import problem_of
from evolve.propose.offline.edits import constant_moved
from evolve.propose.offline.experience import Experience
from evolve.propose.offline.outline import Outline
from evolve.propose.offline.proposer import OfflineProposer
from evolve.propose.offline.wiring import uses

MakeRequest = Callable[..., Request]
KINDS = (PatchKind.DIFF, PatchKind.CROSS, PatchKind.FIX)


def used(source: str) -> set[str]:
    """The functions that slots and result statements name."""
    return {use.name for use in uses(Outline(source, "compute_model_placement"))}


def outside(source: str) -> list[str]:
    """The lines of a program that may not change."""
    lines = source.splitlines()
    inside = {number for region in evolve_regions(source) for number in range(region.start, region.stop)}
    return [line for number, line in enumerate(lines) if number not in inside]


@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_is_a_patch_that_applies(
    kind: PatchKind, proposer: OfflineProposer, grown: list[str], make_request: MakeRequest
) -> None:
    for number in range(12):
        parent = grown[number % len(grown)]
        inspirations = [grown[(number * 7 + 3) % len(grown)], grown[(number * 5 + 1) % len(grown)]]
        request = make_request(parent, kind=kind, inspirations=inspirations, generation=number, attempt=number % 3)
        patch = parse_patch(proposer.answer(request, None, print).text, kind)
        child = apply_patch(patch, parent)  # which also compiles it
        assert patch.name and patch.description
        assert outside(child) == outside(parent)
        assert normalised_hash(child) != normalised_hash(parent)


def test_an_answer_says_what_the_edit_does(
    proposer: OfflineProposer, grown: list[str], make_request: MakeRequest
) -> None:
    for number in range(8):
        request = make_request(grown[-1], inspirations=grown[2:4], generation=number)
        edit = proposer.propose(request)
        assert edit is not None
        patch = parse_patch(proposer.answer(request, None, print).text, request.kind)
        assert (patch.name, patch.description) == (edit.name, edit.description)
        assert apply_patch(patch, grown[-1]) == edit.source


def test_the_same_request_gets_the_same_answer_from_another_proposer(
    folder: Path, proposer: OfflineProposer, grown: list[str], make_request: MakeRequest
) -> None:
    other = OfflineProposer(folder, entry_point="compute_model_placement")
    for kind in KINDS:
        request = make_request(grown[-1], kind=kind, inspirations=grown[3:5], seed=4, generation=9)
        assert proposer.answer(request, None, print) == other.answer(request, None, print)
        assert proposer.prompt(request) is None


def test_answers_do_not_depend_on_the_hash_seed_of_the_process(tmp_path: Path, grown: list[str]) -> None:
    script = tmp_path / "answers.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parents[3])!r})\n"
        "from evaluator.task_files import load_task\n"
        "from evolve.propose.offline.proposer import OfflineProposer\n"
        "from evolve.core.program import PatchKind\n"
        "from tests.propose.offline.placement import ENTRY, request_for\n"
        f"programs = {[grown[4], grown[9], grown[-1]]!r}\n"
        "proposer = OfflineProposer(load_task('placement').ingredients, entry_point=ENTRY)\n"
        "for number in range(12):\n"
        "    kind = PatchKind.CROSS if number % 2 else PatchKind.DIFF\n"
        "    request = request_for(programs[number % 3], kind=kind, inspirations=programs, generation=number)\n"
        "    print(proposer.answer(request, None, print).text)\n",
        encoding="utf-8",
    )
    printed = {
        subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1 and len(printed.pop()) > 1000


@pytest.mark.parametrize("varied", ["seed", "generation", "attempt"])
def test_answers_vary_with_seed_generation_and_attempt(
    varied: str, proposer: OfflineProposer, initial: str, make_request: MakeRequest
) -> None:
    answers = {proposer.answer(make_request(initial, **{varied: value}), None, print).text for value in range(10)}
    assert len(answers) >= 6


def test_one_constant_is_moved_and_nothing_else(grown: list[str], make_request: MakeRequest) -> None:
    outline = Outline(grown[-1], "compute_model_placement")
    edit = constant_moved(outline, Experience(make_request(grown[-1])), random.Random(2))
    assert edit is not None
    changed = [
        pair for pair in zip(grown[-1].splitlines(), edit.source.splitlines(), strict=True) if len(set(pair)) > 1
    ]
    assert len(changed) == 1
    assert edit.name.startswith(("raise_", "lower_")) and " from " in edit.description


def test_a_replacement_says_what_went_and_what_came(
    proposer: OfflineProposer, grown: list[str], make_request: MakeRequest
) -> None:
    seen = 0
    for number in range(30):
        edit = proposer.propose(make_request(grown[-1], generation=number))
        assert edit is not None
        if edit.name.startswith("replace_") and "_and_" not in edit.name:
            old = edit.description.removeprefix("replace ").partition(": use ")[0]
            assert edit.name.startswith(f"replace_{old}_by_")
            new = edit.name.removeprefix(f"replace_{old}_by_")
            before, after = used(grown[-1]), used(edit.source)
            # A file may be named more fully than its function: bisect_first_fit, first_fit.
            assert any(old.endswith(name) for name in before - after)
            assert any(new.endswith(name) for name in after - before)
            seen += 1
    assert seen >= 3


def test_cross_without_inspirations_becomes_another_edit(
    proposer: OfflineProposer, initial: str, make_request: MakeRequest
) -> None:
    edit = proposer.propose(make_request(initial, kind=PatchKind.CROSS))
    assert edit is not None and edit.source != initial


def test_search_from_the_initial_program_finds_better_ones(
    proposer: OfflineProposer, initial: str, make_request: MakeRequest, cost_of: Callable[..., Fraction]
) -> None:
    best, lowest = initial, cost_of(initial)
    for generation in range(1, 16):
        edit = proposer.propose(make_request(best, generation=generation, seed=1))
        assert edit is not None
        cost = cost_of(edit.source)
        if cost < lowest:
            best, lowest = edit.source, cost
    assert lowest < cost_of(initial) * Fraction(9, 10)


TINY = """\
STEP = 3
# EVOLVE-BLOCK-START
WIDTH = 10


def helper(x):
    return x * WIDTH + 7


def solve(x):
    return helper(x)
# EVOLVE-BLOCK-END
"""

DONOR = """\
STEP = 3
# EVOLVE-BLOCK-START
import math

DEPTH = 5


def polish(x):
    return math.sqrt(x) + DEPTH


def helper(x):
    return x * 11 + 8


def solve(x):
    y = helper(x)
    y = polish(y)
    return y
# EVOLVE-BLOCK-END
"""


def test_a_task_without_ingredients_has_constants_and_crossover(make_request: MakeRequest) -> None:
    proposer = OfflineProposer(None, entry_point="solve")
    names = set()
    for generation in range(40):
        for kind in (PatchKind.DIFF, PatchKind.CROSS):
            edit = proposer.propose(make_request(TINY, kind=kind, inspirations=[DONOR], generation=generation))
            assert edit is not None
            space: dict[str, object] = {}
            exec(edit.source, space)
            assert space["solve"](4) is not None  # type: ignore[operator]
            names.add(edit.name.split("_and_")[0])
    assert {"raise_width", "lower_width", "raise_number", "lower_number", "take_polish", "take_helper"} <= names
    assert not any("step" in name for name in names), "STEP lies outside the block"


def test_a_program_that_offers_nothing_to_change_gets_an_answer_that_says_so(make_request: MakeRequest) -> None:
    bare = "# EVOLVE-BLOCK-START\ndef solve(x):\n    return x\n# EVOLVE-BLOCK-END\n"
    proposer = OfflineProposer(None, entry_point="solve")
    request = make_request(bare)
    answer = proposer.answer(request, None, print)
    assert (answer.text, answer.finish_reason) == ("", "nothing")
    reason, message = problem_of(answer, PatchKind.DIFF) or ("", "")
    assert reason == "nothing"
    assert "ingredients" in message


@pytest.mark.parametrize(
    "source",
    [
        TINY.replace("\n", "\r\n"),
        TINY.replace("    return helper(x)\n", "    y = helper(x); return y\n"),
        TINY.replace("def solve(x):\n    return helper(x)", "def solve(x): return helper(x)"),
        TINY.replace("WIDTH = 10\n", "WIDTH = 10; HEIGHT = 4\n"),
        TINY.replace("WIDTH = 10\n", 'WIDTH = 10\nLABEL = "é \x0c \x85"; é = 30\n'),
        TINY.replace("    return helper(x)", "\treturn (\n\t\thelper(x)\n\t)"),
        TINY.replace("def solve(x):\n    return helper(x)\n", "solve = helper\n"),
        TINY.replace("# EVOLVE-BLOCK-END\n", "# EVOLVE-BLOCK-END"),
    ],
    ids=[
        "crlf",
        "semicolon",
        "one_liner",
        "shared_line",
        "odd_text",
        "tabs",
        "no_function",
        "no_last_end",
    ],
)
def test_unusual_layout_is_edited_rightly_or_left_alone(tmp_path: Path, source: str, make_request: MakeRequest) -> None:
    (tmp_path / "twice.py").write_text(
        "# role: step\n# why: twice is more\n# wire: result = twice({result})\nTIMES = 2\n\n\n"
        "def twice(value):\n    return value * TIMES\n",
        encoding="utf-8",
    )
    proposer = OfflineProposer(tmp_path, entry_point="solve")
    for generation in range(30):
        for kind in (PatchKind.DIFF, PatchKind.CROSS):
            request = make_request(source, kind=kind, inspirations=[DONOR], generation=generation)
            edit = proposer.propose(request)
            if edit is not None:
                patched = apply_patch(parse_patch(proposer.answer(request, None, print).text, kind), source)
                assert normalised_hash(patched) == normalised_hash(edit.source)
                space: dict[str, object] = {}
                exec(patched, space)
                assert space["solve"](4) is not None  # type: ignore[operator]
