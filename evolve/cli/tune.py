"""`evolve tune`: search better values for the numbers of a program; for a run's program the result is recorded."""

import argparse
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from evaluator.evaluation import Evaluation
from evaluator.places import DEFAULT_TASK
from evaluator.program_files import Files
from evaluator.task import Task
from evaluator.task_files import load_task
from evaluator.untrusted import one_line
from evolve.archive.archive import Archive
from evolve.archive.records import CONFIRMING, ProgramRecord
from evolve.cli import output
from evolve.cli.interrupting import interruptible
from evolve.cli.live import checking_line
from evolve.cli.options import confined, warn_of
from evolve.core.config import available_cores
from evolve.core.errors import InputError
from evolve.core.files import read_program, require_disk, require_writable, write_program
from evolve.core.invocation import command
from evolve.evaluation.evaluators import EvaluatorPair, open_evaluators
from evolve.progress import Checking, Warned
from evolve.propose.building import Duplicate
from evolve.propose.tuning import tuner
from evolve.propose.tuning.recording import record_tuned, require_same_judge
from evolve.propose.tuning.tuner import Tuned, Tuner, chance_in, rank_of
from evolve.review.runs import resolve_run
from evolve.review.scores import fresh_text, held_out_text, sentence
from evolve.review.table import Tone
from evolve.review.texts import diff_of_files
from evolve.review.verdict import why_not
from evolve.trust import replayed_task, stored_config


@dataclass(frozen=True, slots=True, kw_only=True)
class _TuningTarget:
    """The program to tune, and how it is scored; for a run's program also the run and the program's record."""

    label: str
    program: Files
    task: Task
    suite: str | None
    control: Files
    seed: int = 0
    of_run: tuple[Archive, ProgramRecord] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """The result of a search: whether its best program is better and passed every check, its JSON, and the function
    that prints it."""

    holds: bool
    json: dict[str, Any]
    show: Callable[[], None]


def run(arguments: argparse.Namespace) -> int:
    """Search, and print the result: 0 when better numbers passed every check, 1 when not, 130 when Ctrl-C ended the
    search."""
    tuner.require_size(arguments.evaluations, option="--evaluations")
    require_writable(arguments.output, overwrite=arguments.force)
    if arguments.program is None:
        return _tune(arguments, _target_of_file(arguments))
    if arguments.suite is not None:
        raise InputError("--suite is for a FILE: the programs of a run are scored on the run's own suite")
    with Archive.open(resolve_run(arguments.what)) as archive:
        return _tune(arguments, _target_of_run(arguments, archive))


def _target_of_file(arguments: argparse.Namespace) -> _TuningTarget:
    path, task = Path(arguments.what), load_task(arguments.task or DEFAULT_TASK)
    if not (path.is_file() or (task.program_folder is not None and path.is_dir())):
        hint = command("tune", arguments.what, "best")
        raise InputError(f"{arguments.what}: there is no such file; for a run, name its program too: {hint}")
    program = read_program(path, task)
    return _TuningTarget(label=str(path), program=program, task=task, suite=arguments.suite, control=program)


def _target_of_run(arguments: argparse.Namespace, archive: Archive) -> _TuningTarget:
    record, initial = archive.reader.find(arguments.program), archive.reader.programs[0]
    target = _TuningTarget(
        label=f"generation {record.generation}",
        program=archive.reader.files(record),
        task=replayed_task(archive.reader, typed=arguments.task, trust=arguments.trust),
        suite=stored_config(archive.reader).suite,
        control=archive.reader.files(initial),
        seed=archive.reader.identity["seed"],
        of_run=(archive, record),
    )
    tuner.require_score_without_chance(initial.spread, what=target.label)
    require_disk(archive.folder)
    return target


def _tune(arguments: argparse.Namespace, target: _TuningTarget) -> int:
    tuner.require_tunable(target.task, what=target.label)
    if not tuner.chosen(target.program, evaluations=arguments.evaluations)[1]:
        raise InputError(
            f"{target.label}: its evolve blocks hold no number to tune. Unnamed integers from 0 to 2, indices, seeds "
            "and text are left out; to tune such a number, give it a name, as in `STEPS = 2`"
        )
    opened = partial(open_evaluators, control=target.control, seed=target.seed, confined=confined(arguments))
    workers, spent = arguments.workers or available_cores(), 1 if target.of_run is None else 0
    with opened(target.task, target.suite, workers=workers) as evaluators:
        start = _evaluate_start(target, evaluators)
        searching = Tuner(evaluators.evaluator, arguments.evaluations - spent, workers)
        tuned, interrupted = _search(arguments, searching, target.program, start, spent, evaluators.cancel)
        if target.of_run is None:
            result = _compare(arguments, target, evaluators, start, tuned)
        else:
            result = _record(*target.of_run, evaluators, start, tuned)
    if arguments.output is not None and result.holds:
        several = target.task.program_folder is not None
        write_program(arguments.output, tuned.files, several=several, overwrite=arguments.force)
        output.note(f"{arguments.output}: the better program")
    if arguments.json:
        searched = tuned.to_json() | {"evaluations": tuned.evaluations + spent}
        output.print_json(result.json | {"interrupted": interrupted} | searched)
    else:
        output.say(f"{tuned.summary}.")
        for label, old, new in tuned.changes:
            output.say(f"  {label}: {old!r} -> {new!r}")
        result.show()
    return 130 if interrupted else 0 if result.holds else 1


def _evaluate_start(target: _TuningTarget, evaluators: EvaluatorPair) -> Evaluation:
    """Evaluate the program before the search, or read its evaluation. Raises InputError where chance decides its
    score."""
    if target.of_run is not None:
        require_same_judge(target.of_run[0], evaluators)
    warn_of(evaluators.evaluator.sandbox)
    if target.of_run is None or target.of_run[1].stale:
        evaluation = evaluators.evaluator.evaluate(target.program)
    else:
        evaluation = target.of_run[0].reader.evaluation(target.of_run[1])
    evaluation = tuner.measured_again(evaluators.evaluator, target.program, evaluation)
    if (chance := chance_in(evaluation)) is not None:
        raise InputError(f"{target.label}: {chance}")
    return evaluation


def _search(
    arguments: argparse.Namespace,
    searching: Tuner,
    program: Files,
    start: Evaluation,
    spent: int,
    cancel: Callable[[], object],
) -> tuple[Tuned, bool]:
    """Search, and print each new best. Returns the result, and whether Ctrl-C ended the search. `spent` is the number
    of evaluations before it."""
    interrupt, best = threading.Event(), rank_of(start)
    with output.progress("evaluated", searching.evaluations) as shown, interruptible(interrupt.set):

        def tell(done: int, rank: tuple[bool, float]) -> None:
            nonlocal best
            if rank > best:
                best = rank
                shown.clear()
                output.note(f"[{done + spent} of {arguments.evaluations}] score {rank[1]:.6f}", Tone.QUIET)
            shown.working_on(f"best score {best[1]:.6f}" if best[0] else "none correct")
            shown.step()

        stopped = interrupt.is_set
        tuned = searching.tune(program, start, seed=arguments.seed, tell=tell, stopped=stopped, cancel=cancel)
    if interrupt.is_set():
        output.note(f"Interrupted after {tuned.evaluations} evaluations; the best so far is used.")
    return tuned, interrupt.is_set()


def _record(
    archive: Archive, parent: ProgramRecord, evaluators: EvaluatorPair, start: Evaluation, tuned: Tuned
) -> _Result:
    """Record a better program as a child of the run's program."""
    json: dict[str, Any] = {"run": archive.folder.name, "parent": parent.generation}
    duplicate_text: str | None = None
    try:
        if tuned.gained:
            record, is_best = record_tuned(archive, evaluators, parent, tuned, tell=_tell)
            holds = (record.correct, record.combined_score) > rank_of(start)
            holds = holds and record.overfitted is None and record.spread is None
            holds = holds and (not is_best or archive.reader.fresh_of_best in CONFIRMING)
            json |= {"generation": record.generation, "known": None, "is_best": is_best}
            return _Result(holds=holds, json=json, show=partial(_show, archive, record, is_best, start, holds))
    except Duplicate as duplicate:
        duplicate_text = f"the best program of the search is generation {duplicate.generation} already"
    json |= {"generation": None, "known": duplicate_text, "is_best": False}
    message = duplicate_text or "No better program was found; nothing was recorded."
    return _Result(holds=False, json=json, show=partial(output.say, message))


def _tell(event: Checking | Warned) -> None:
    output.note(checking_line(event) if isinstance(event, Checking) else one_line(event.message, 400))


def _show(archive: Archive, record: ProgramRecord, is_best: bool, start: Evaluation, holds: bool) -> None:
    """Print the program that was recorded."""
    best = ", the best of the run" if is_best else ""
    score = f"{sentence(record)}, from {start.combined_score:.6f}"
    output.say(f"generation {record.generation}{best}: {score}", Tone.GOOD if holds else Tone.BAD)
    held_out = archive.reader.held_out_scores.get(record.generation)
    if held_out is not None:
        output.say(f"held-out: {held_out_text(held_out)}")
    if is_best:
        output.say(f"fresh: {fresh_text(archive.reader.fresh_check(record.generation))}")
    for why in filter(None, (record.overfitted, record.quarantine)):
        output.say(f"WARNING  {why}", Tone.BAD)
    output.print_commands([(command("lineage", archive.folder, str(record.generation)), "its lineage, step by step")])


def _compare(
    arguments: argparse.Namespace, target: _TuningTarget, evaluators: EvaluatorPair, start: Evaluation, tuned: Tuned
) -> _Result:
    """Evaluate a better program strictly, and compare it with the program of the file."""
    final, reasons = start, list[str]()
    if tuned.gained:
        final = evaluators.evaluator.examine(tuned.files, evaluators.evaluator.evaluate(tuned.files))
        # A program that failed at first was not evaluated twice: chance may show only now.
        if not final.correct:
            reasons = why_not(final)
        elif (chance := chance_in(final)) is not None:
            reasons = [chance]
        elif rank_of(final) <= rank_of(start):
            reasons = [f"evaluated again, it is no better than before ({start.combined_score:.6f})"]
    holds = tuned.gained and not reasons

    def show() -> None:
        output.say(f"before: {sentence(start)}")
        if not tuned.gained:
            output.say("No better program was found.")
            return
        output.say(f"after:  {sentence(final)}", Tone.GOOD if holds else Tone.BAD)
        for reason in reasons:
            output.say(reason, Tone.BAD)
        if arguments.output is None:
            output.print_diff(diff_of_files(target.program, tuned.files, arguments.what, "tuned"), exact=False)

    return _Result(holds=holds, json={"file": arguments.what, "holds": holds, "source": tuned.files.joined}, show=show)
