"""`evolve tune`: search the numbers of a program for better ones; of a run's program the result is recorded."""

import argparse
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluator.untrusted import one_line
from evolve.cli import output
from evolve.cli.options import add_sandbox_options, demands, positive, warn_of
from evolve.review.table import Tone

if TYPE_CHECKING:
    from evaluator.evaluation import Evaluation
    from evaluator.task import Task
    from evolve.archive.archive import Archive
    from evolve.archive.records import ProgramRecord
    from evolve.judging.evaluators import EvaluatorPair
    from evolve.language import Language
    from evolve.tuning.conducting import Tuned
    from evolve.tuning.recording import Recorded

_DEFAULT_TASK = "placement"
_EVALUATIONS = 100
_MOST = 100_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("what", metavar="RUN|FILE", help="a run's name or folder (with PROGRAM), or a program's file")
    parser.add_argument(
        "program", nargs="?", metavar="PROGRAM", help="of a run: a generation, `best`, or the beginning of a commit id"
    )
    parser.add_argument(
        "--evaluations", type=positive, default=_EVALUATIONS, metavar="N", help="how many at most (default 100)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="drives what is tried (default 0)")
    parser.add_argument("--workers", type=positive, metavar="W", help="evaluator processes (default: the cores)")
    parser.add_argument(
        "--task",
        metavar="T",
        help=f"of a FILE: its task (default {_DEFAULT_TASK}); of a RUN: where its folder lies now",
    )
    parser.add_argument("--suite", metavar="S", help="of a FILE: the suite to score on (default: the task's)")
    parser.add_argument("--trust", action="store_true", help="load the task folder that somebody else's run names")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="write the better program to FILE")
    parser.add_argument("--force", action="store_true", help="overwrite the FILE of -o if it exists")
    add_sandbox_options(parser)
    parser.add_argument("--json", action="store_true", help="as JSON on stdout")


def run(arguments: argparse.Namespace) -> int:
    """Search, and tell: 0 when better numbers were found that hold, 1 when not, 130 when Ctrl-C ended the search."""
    from evolve.errors import InputError
    from evolve.files import require_writable
    from evolve.tuning.conducting import LEAST

    if arguments.evaluations < LEAST:
        raise InputError(f"--evaluations {arguments.evaluations}: too few for a search, which takes {LEAST} at least")
    if arguments.evaluations > _MOST:
        raise InputError(f"--evaluations {arguments.evaluations}: too many; {_MOST} at most, and some hundred will do")
    require_writable(arguments.output, overwrite=arguments.force)
    return _of_a_file(arguments) if arguments.program is None else _of_a_run(arguments)


def _of_a_run(arguments: argparse.Namespace) -> int:
    from evolve.archive.archive import Archive
    from evolve.config import available_cores
    from evolve.errors import InputError
    from evolve.files import require_disk
    from evolve.judging.evaluators import open_evaluators
    from evolve.language import language_of
    from evolve.review.runs import resolve_run
    from evolve.trust import replayed_task, stored_config
    from evolve.tuning.conducting import (
        measured_again,
        require_repeatable,
        require_score_without_chance,
        require_tunable,
        standing_of,
    )
    from evolve.tuning.recording import require_same_judge

    if arguments.suite is not None:
        raise InputError("--suite is for a FILE: the programs of a run are scored on the run's own suite")
    with Archive.open(resolve_run(arguments.what), write=True) as archive:
        program = archive.find(arguments.program)
        source = archive.source(program)
        task = replayed_task(archive, typed=arguments.task, trust=arguments.trust)
        what = f"generation {program.generation}"
        require_tunable(task, what=what)
        require_score_without_chance(archive.programs[0].spread, what=what)
        language = language_of(archive.program_file)
        _require_numbers(source, language, arguments, what)
        require_disk(archive.folder)
        told: dict[str, Any] = {**demands(arguments), "seed": archive.identity["seed"]}
        told |= {"control": archive.source(archive.programs[0])}
        workers = arguments.workers or available_cores()
        with open_evaluators(task, stored_config(archive).suite, workers=workers, **told) as evaluators:
            require_same_judge(archive, evaluators)
            warn_of(evaluators.evaluator.sandbox)
            start = archive.evaluation(program)
            if program.stale:
                start = evaluators.evaluator.evaluate(source)
            start = measured_again(evaluators.evaluator, source, start)
            require_repeatable(start, what=what)
            tuned, interrupted = _search(arguments, source, language, evaluators, start, 0, workers)
            recorded, known = _recorded(archive, evaluators, task, program, tuned, source)
            return _tell_of_run(arguments, archive, program, standing_of(start), tuned, recorded, known, interrupted)


def _of_a_file(arguments: argparse.Namespace) -> int:
    from evaluator.task_files import load_task
    from evolve.config import available_cores
    from evolve.errors import InputError
    from evolve.files import read_source
    from evolve.invocation import command
    from evolve.judging.evaluators import open_evaluators
    from evolve.language import language_of_task
    from evolve.tuning.conducting import chance_in, measured_again, require_repeatable, require_tunable, standing_of

    path = Path(arguments.what)
    if not path.is_file():
        hint = command("tune", arguments.what, "best")
        raise InputError(f"{arguments.what}: there is no such file; a program of a run is named beside it: {hint}")
    source, task = read_source(path), load_task(arguments.task or _DEFAULT_TASK)
    require_tunable(task, what=str(path))
    language = language_of_task(task)
    _require_numbers(source, language, arguments, str(path))
    workers = arguments.workers or available_cores()
    with open_evaluators(task, arguments.suite, workers=workers, control=source, **demands(arguments)) as evaluators:
        warn_of(evaluators.evaluator.sandbox)
        start = measured_again(evaluators.evaluator, source, evaluators.evaluator.evaluate(source))
        require_repeatable(start, what=str(path))
        tuned, interrupted = _search(arguments, source, language, evaluators, start, 1, workers)
        final, holds = start, False
        if tuned.gained:
            final = evaluators.evaluator.examine(tuned.source, evaluators.evaluator.evaluate(tuned.source))
            # One that fails at first was not measured twice: chance may show in what was found only.
            holds = chance_in(final) is None and final.correct and standing_of(final) > standing_of(start)
    return _tell_of_file(arguments, source, start, tuned, final, holds, interrupted)


def _require_numbers(source: str, language: "Language", arguments: argparse.Namespace, what: str) -> None:
    from evolve.errors import InputError
    from evolve.tuning.conducting import chosen

    if not chosen(source, language, evaluations=arguments.evaluations)[1]:
        raise InputError(
            f"{what}: its evolve blocks hold no number that is worth a search (integers from 0 to 2 without the name "
            "of a constant, indices, seeds and text are none); give one a name, as in `STEPS = 2`, and it is searched"
        )


def _search(
    arguments: argparse.Namespace,
    source: str,
    language: "Language",
    evaluators: "EvaluatorPair",
    start: "Evaluation",
    spent: int,
    workers: int,
) -> "tuple[Tuned, bool]":
    """Search before the person's eyes; whether Ctrl-C ended it. `spent` evaluations are gone already."""
    from evolve.cli.interrupting import interruptible
    from evolve.tuning.conducting import standing_of, tune

    interrupt, best, total = threading.Event(), standing_of(start), arguments.evaluations - spent
    with output.progress("evaluated", total) as shown, interruptible(interrupt.set):

        def tell(done: int, found: tuple[bool, float]) -> None:
            nonlocal best
            if found > best:
                best = found
                shown.clear()
                output.note(f"[{done + spent} of {arguments.evaluations}] score {found[1]:.6f}", Tone.QUIET)
            shown.working_on(f"best score {best[1]:.6f}" if best[0] else "none correct")
            shown.step()

        tuned = tune(
            source,
            language,
            evaluators.evaluator,
            start=standing_of(start),
            evaluations=total,
            seed=arguments.seed,
            workers=workers,
            tell=tell,
            stopped=interrupt.is_set,
            cancel=evaluators.cancel,
        )
    if interrupt.is_set():
        output.note(f"Interrupted after {tuned.evaluations} evaluations; what was found by then counts.")
    return tuned, interrupt.is_set()


def _recorded(
    archive: "Archive",
    evaluators: "EvaluatorPair",
    task: "Task",
    parent: "ProgramRecord",
    tuned: "Tuned",
    source: str,
) -> "tuple[Recorded | None, str | None]":
    """What was recorded, or why nothing better was."""
    from evolve.cli.live import checking_line
    from evolve.progress import Checking, Warned
    from evolve.propose.building import Duplicate
    from evolve.tuning.recording import record_tuned

    def tell(event: Checking | Warned) -> None:
        output.note(checking_line(event) if isinstance(event, Checking) else one_line(event.message, 400))

    if not tuned.gained:
        return None, None
    try:
        return record_tuned(archive, evaluators, task, parent, tuned, source, tell=tell), None
    except Duplicate as known:
        return None, f"what was found is generation {known.generation} already "


def _tell_of_run(
    arguments: argparse.Namespace,
    archive: "Archive",
    parent: "ProgramRecord",
    start: tuple[bool, float],
    tuned: "Tuned",
    recorded: "Recorded | None",
    known: str | None,
    interrupted: bool,
) -> int:
    from evolve.archive.records import CONFIRMING
    from evolve.invocation import command
    from evolve.review.scores import fresh_text, held_out_text, sentence
    from evolve.tuning.conducting import to_json

    record = None if recorded is None else recorded.record
    good = record is not None and (record.correct, record.combined_score) > start and record.overfitted is None
    good = good and record is not None and record.spread is None
    if good and recorded is not None and recorded.is_best:
        good = archive.fresh_of_best in CONFIRMING
    _write(arguments, tuned, good)
    if arguments.json:
        told = {"run": archive.folder.name, "parent": parent.generation, "interrupted": interrupted}
        told |= {"generation": None if record is None else record.generation, "known": known}
        told |= {"is_best": recorded is not None and recorded.is_best}
        output.print_json({**told, **to_json(tuned)})
    elif record is None or recorded is None:
        _say_of_search(tuned)
        output.say(known or "Nothing better was found, and nothing recorded.")
    else:
        _say_of_search(tuned)
        best = ", the best of the run" if recorded.is_best else ""
        tone = Tone.GOOD if good else Tone.BAD
        output.say(f"generation {record.generation}{best}: {sentence(record)}, from {start[1]:.6f}", tone)
        if recorded.held_out is not None:
            output.say(f"held-out: {held_out_text(recorded.held_out)}")
        if recorded.is_best:
            output.say(f"fresh: {fresh_text(archive.fresh_check(record.generation))}")
        for why in filter(None, (record.overfitted, record.quarantine)):
            output.say(f"WARNING  {why}", Tone.BAD)
        output.print_commands([(command("lineage", archive.folder, str(record.generation)), "how it came to be")])
    return 130 if interrupted else 0 if good else 1


def _tell_of_file(
    arguments: argparse.Namespace,
    source: str,
    start: "Evaluation",
    tuned: "Tuned",
    final: "Evaluation",
    holds: bool,
    interrupted: bool,
) -> int:
    from evolve.review.difference import unified_diff
    from evolve.review.scores import sentence
    from evolve.tuning.conducting import to_json

    _write(arguments, tuned, holds)
    if arguments.json:
        told = {"file": arguments.what, "interrupted": interrupted, "holds": holds, "source": tuned.source}
        output.print_json({**told, **to_json(tuned), "evaluations": tuned.evaluations + 1})
    else:
        _say_of_search(tuned)
        output.say(f"before: {sentence(start)}")
        if tuned.gained:
            output.say(f"after:  {sentence(final)}", Tone.GOOD if holds else Tone.BAD)
            for line in [] if holds else _why_it_does_not_hold(start, final):
                output.say(line, Tone.BAD)
            if arguments.output is None:
                output.print_diff(unified_diff(source, tuned.source, arguments.what, "tuned"), exact=False)
        else:
            output.say("Nothing better was found.")
    return 130 if interrupted else 0 if holds else 1


def _why_it_does_not_hold(start: "Evaluation", final: "Evaluation") -> list[str]:
    from evolve.review.verdict import why_not
    from evolve.tuning.conducting import chance_in

    if not final.correct:
        return why_not(final)
    return [chance_in(final) or f"measured again it is no better than before ({start.combined_score:.6f})"]


def _write(arguments: argparse.Namespace, tuned: "Tuned", good: bool) -> None:
    from evolve.files import write_file

    if arguments.output is not None and good:
        write_file(arguments.output, tuned.source.encode("utf-8", "surrogatepass"), overwrite=arguments.force)
        output.note(f"{arguments.output}: the better program")


def _say_of_search(tuned: "Tuned") -> None:
    output.say(f"{tuned.summary}.")
    for label, old, new in tuned.changes:
        output.say(f"  {label}: {old!r} -> {new!r}")
