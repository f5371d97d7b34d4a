"""A program above the best is a parent at once; what its confirmation says counts later, and may withdraw it."""

import os
import random
import re
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluator.evaluation import Evaluation, Incumbent, Outcome, StrictReport
from evaluator.program_files import Files
from evolve.archive.reader import RunReader
from evolve.loop.executor import JobKind
from evolve.progress import Confirmed, Evaluated
from evolve.search.stopping import StopReason
from tests.loop import leaking
from tests.loop.by_hand import begun, taken_up
from tests.loop.climbing import configure, events, evolve, patch, script
from tests.loop.killing import choices_found_again
from tests.loop.virtual import VirtualExecutor
from tests.seams.in_process import InProcessEvaluator

SEED = 5
FALSE = 3
"""The step whose program does not hold."""
STEPS = [1, FALSE, -5, 0.5, 0.25, 2, 4, -1, FALSE, 1]
"""The third is tried while the second, made by the false step, is confirmed; so is the tenth, which is better still."""


class Refuting(InProcessEvaluator):
    """Of a program whose last step is the false one it says that it does not hold."""

    def examine(self, program: Files, evaluation: Evaluation, best: Incumbent | None = None) -> Evaluation:
        if re.findall(r"OFFSET -= (\S+)", program.only)[-1:] != [str(FALSE)]:
            return super().examine(program, evaluation)
        return replace(evaluation, strict=StrictReport(agrees=False), outcome=Outcome.NONDETERMINISTIC)


def configured(folder: Path, answers: Sequence[str] = (), **keys: Any) -> str:
    answers = answers or [patch(step, name=f"step_{number}") for number, step in enumerate(STEPS, 1)]
    search = {"elites": 3, "unguided": 0.0, "inspirations": 2, "kinds": {"diff": 1.0, "full": 0.0, "cross": 0.0}}
    return configure(folder, **{"models": [script(folder, list(answers))], "search": search} | keys)


def names(journal: list[dict[str, Any]], *wanted: str) -> list[tuple[str, int]]:
    return [(event["event"], event["generation"]) for event in journal if event["event"] in wanted]


@pytest.mark.parametrize("parallel", [1, 2])
def test_while_a_confirmation_takes_long_the_program_is_a_parent(tmp_path: Path, parallel: int) -> None:
    config = configured(tmp_path, parallel=parallel, generations=6)
    with begun(tmp_path / "runs" / "r", config) as run:
        one_by_one = {number: 1.0 + number / 100 for number in range(7)}
        run.executor = VirtualExecutor(
            lambda job: 9.0 if job.kind is JobKind.CONFIRM else one_by_one[job.generation or 0]
        )
        assert run.go() is StopReason.GENERATIONS
    journal = events(tmp_path)
    (made, *_) = (event for event in journal if event.get("provisional"))
    (child, *_) = (event for event in journal if event["event"] == "asked" and event["parents"] == [made["commit"]])
    (confirmed, *_) = (event for event in journal if event["event"] == "rescored")
    assert confirmed["generation"] == made["generation"]
    assert made["seq"] < child["seq"] < confirmed["seq"]
    assert choices_found_again(tmp_path)[1] == []


@pytest.mark.parametrize("parallel", [1, 3])
def test_a_program_that_does_not_hold_is_withdrawn_and_its_children_stay(tmp_path: Path, parallel: int) -> None:
    with begun(tmp_path / "runs" / "r", configured(tmp_path, parallel=parallel), Refuting) as run:
        assert run.go() is StopReason.GENERATIONS
        output = run.watch.events
        reader = run.archive.reader
        false = {event.record.generation for event in output if isinstance(event, Confirmed) and not event.is_best}
        assert false, "something was withdrawn"
        assert {
            event.record.generation for event in output if isinstance(event, Evaluated) and event.provisional
        } > false
        best = reader.best
        assert best is not None and best.generation not in false
        assert best.combined_score == max(record.combined_score for record in reader.programs if record.correct)
        assert (reader.would_lead, list(reader.candidates)) == (None, [])
        assert reader.funnel.correct == sum(record.correct for record in reader.programs[1:])
    journal = events(tmp_path)
    commits = {event["commit"]: event["generation"] for event in journal if event["event"] == "evaluated"}
    withdrawn, children = set[int](), 0
    for event in journal:
        if event["event"] == "rescored" and event["generation"] in false:
            withdrawn.add(event["generation"])
        elif event["event"] == "asked":
            shown = {commits[commit] for commit in (*event["parents"], *event["inspirations"])}
            assert not shown & withdrawn
            children += bool(shown & false)
    assert children, "some were made from it before"
    assert choices_found_again(tmp_path)[1] == []


def cut(folder: Path, length: int) -> Path:
    """The run `r` as it was when its journal had that length."""
    copy = folder / "runs" / "cut"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder / "runs" / "r", copy)
    os.truncate(copy / "journal.jsonl", length)
    return copy


@pytest.mark.parametrize(
    ("first", "last"),
    [(0, 4), pytest.param(4, 14, marks=pytest.mark.slow), pytest.param(14, 30, marks=pytest.mark.nightly)],
)
def test_with_one_in_flight_cut_off_at_any_moment_it_is_the_same_run(tmp_path: Path, first: int, last: int) -> None:
    """At thirty places that the seed says; these are some of them."""
    config = configured(tmp_path, meta_every=3)
    path = tmp_path / "runs" / "r"
    with begun(path, config, Refuting) as run:
        run.go()
        wanted = run.archive.reader.fingerprint()
    lines = (path / "journal.jsonl").read_bytes().splitlines(keepends=True)
    assert sum(b'"rescored"' in line for line in lines) > 4
    for kept in random.Random(SEED).sample(range(2, len(lines)), 30)[first:last]:
        length = sum(map(len, lines[:kept]))
        with taken_up(cut(tmp_path, length), config, Refuting) as run:
            run.go()
            assert run.archive.reader.fingerprint() == wanted, lines[kept]


def test_with_one_in_flight_a_run_that_goes_on_from_a_limit_is_the_same_run(tmp_path: Path) -> None:
    """What was confirmed at the limit counts as late as without one."""
    with begun(tmp_path / "runs" / "whole", configured(tmp_path)) as run:
        run.go()
        wanted = run.archive.reader.fingerprint()
    for limit in (1, 2, 4):
        path = tmp_path / "runs" / str(limit)
        with begun(path, configured(tmp_path, generations=limit)) as run:
            run.go()
            assert run.archive.reader.would_lead is None
        with taken_up(path, configured(tmp_path)) as run:
            run.go()
            assert run.archive.reader.fingerprint() == wanted, limit


def test_the_outcome_counts_at_the_choice_after_the_next_one(tmp_path: Path) -> None:
    """And what is asked next waits for it where nothing was evaluated between."""
    refused = "no patch at all"
    answers = [patch(1), patch(2), refused, patch(3), refused, patch(4)]
    config = configured(tmp_path, answers, generations=6, attempts=1)
    with begun(tmp_path / "runs" / "r", config) as run:
        run.go()
    assert names(events(tmp_path), "asked", "evaluated", "rescored", "refused") == [
        ("evaluated", 0),
        ("asked", 1),
        ("evaluated", 1),
        ("asked", 2),
        ("evaluated", 2),
        ("rescored", 1),
        ("asked", 3),
        ("refused", 3),
        ("rescored", 2),
        ("asked", 4),
        ("evaluated", 4),
        ("asked", 5),
        ("refused", 5),
        ("rescored", 4),
        ("asked", 6),
        ("evaluated", 6),
        ("rescored", 6),
    ]


@pytest.mark.parametrize("parallel", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_it_is_done_again_from_its_record(tmp_path: Path, parallel: int) -> None:
    lines = {"second": leaking.SECOND, "counts": leaking.COUNTS, "third": leaking.THIRD, "fourth": leaking.FOURTH}
    evolve(tmp_path, "run", leaking.configure(tmp_path, lines, parallel=parallel), "--name", "r")
    with RunReader.open(tmp_path / "runs" / "r") as archive:
        counts = archive.find("2")
        assert (counts.correct, counts.quarantine is None) == (False, False)
    assert ("rescored", 2) in names(events(tmp_path), "rescored")
    assert "Equal" in evolve(tmp_path, "rerun", "r").stdout


def test_a_run_that_is_cut_off_before_a_confirmation_has_the_best_that_was_confirmed(tmp_path: Path) -> None:
    config = configured(tmp_path, generations=1)
    with begun(tmp_path / "runs" / "r", config) as run:
        run.go()
    lines = (tmp_path / "runs" / "r" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    until = next(number for number, line in enumerate(lines) if b'"provisional"' in line)
    with RunReader.open(cut(tmp_path, sum(map(len, lines[: until + 1])))) as archive:
        assert archive.best is archive.programs[0]
        assert archive.would_lead is archive.programs[1]
