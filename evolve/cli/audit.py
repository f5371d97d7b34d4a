"""`evolve audit`: score every claim of a run, a result folder or a file of answers again, and say which hold."""

import argparse
import string
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluator.opening import open_evaluator
from evaluator.task import Task
from evaluator.task_files import load_task
from evolve.apps.audit import claims as audited
from evolve.apps.audit import given
from evolve.apps.audit.answers import judge_file
from evolve.apps.audit.claims import Claim, ClaimVerdict
from evolve.apps.audit.folder import FolderAudit
from evolve.apps.audit.measuring import KeptResults
from evolve.apps.audit.recorded import RunAudit, event_of
from evolve.apps.results.folder import read_results
from evolve.archive.archive import Archive
from evolve.archive.events import AuditedEvent
from evolve.archive.layout import JOURNAL
from evolve.archive.reader import SHORT, RunReader
from evolve.cli import output
from evolve.cli.options import confined, warn_of
from evolve.core.config import available_cores
from evolve.core.errors import ArchiveError, InputError, MachineError
from evolve.core.invocation import command
from evolve.core.program import program_hash
from evolve.evaluation.evaluators import open_evaluators
from evolve.review.runs import is_file, resolve_run
from evolve.review.table import Cell, Fit, Table, TableOf, Tone
from evolve.trust import is_own, note_audit, replayed_task

_TONES = {ClaimVerdict.HOLDS: Tone.GOOD, ClaimVerdict.FALLS: Tone.BAD, ClaimVerdict.UNJUDGED: Tone.QUIET}
_COMMIT = 40
_NOTES = 5
_OF_FOLDERS, _OF_ANSWERS = ("number",), ("claimed", "instance", "key")


def run(arguments: argparse.Namespace) -> int:
    """Audit, and print a row for each claim: 1 if a claim falls, 3 if none could be judged, else 0."""
    path = Path(arguments.what)
    if is_file(path):
        return _audit_answers(arguments, path)
    folder = resolve_run(arguments.what)
    is_run = is_file(folder / JOURNAL)
    return _audit_run(arguments, folder) if is_run else _audit_folder(arguments, folder)


def _audit_run(arguments: argparse.Namespace, folder: Path) -> int:
    _refuse(arguments, *_OF_FOLDERS, *_OF_ANSWERS, "suite", what="a run")
    with RunReader.open(folder) as archive:
        task = replayed_task(archive, typed=arguments.task, trust=arguments.trust, verb="audit")
        if not archive.programs:
            raise InputError(f"{folder}: this run was cut off before its first program; there is nothing to audit")
        suite, seed = str(archive.identity["suite"]), archive.identity.get("seed", 0)
        initial, workers = archive.files(archive.programs[0]), _workers(arguments)
        with open_evaluators(
            task, suite, workers=workers, control=initial, confined=confined(arguments), seed=seed
        ) as evaluators:
            warn_of(evaluators.evaluator.sandbox)
            kept = _kept(str(archive.run_id), program_hash(initial), str(seed))
            audit = RunAudit(archive, evaluators, kept, workers=workers)
            with output.progress("scored again", audit.size) as shown:
                claims = audit.claims(step=shown.step)
            event = event_of(claims, evaluators.evaluator)
        own = is_own(archive) and not archive.running
    if own:
        _record(folder, event)
    kept.remove()
    return _conclude(arguments, claims)


def _audit_folder(arguments: argparse.Namespace, folder: Path) -> int:
    _refuse(arguments, *_OF_ANSWERS, "trust", what="a result folder")
    results, task, workers = read_results(folder), _task(arguments), _workers(arguments)
    with open_evaluator(task, task.suite(arguments.suite), workers=workers, confined=confined(arguments)) as evaluator:
        warn_of(evaluator.sandbox)
        kept = _kept(str(folder.resolve()))
        audit = FolderAudit([program.claimed for program in results.programs], task, evaluator)
        with output.progress("scored", audit.size) as shown:
            claims = audit.claims(kept, number=arguments.number, workers=workers, step=shown.step)
    kept.remove()
    left = len(results.notes) - _NOTES
    known = None if audit.formula is None else {"number": audit.formula.number, "is": audit.formula.words}
    lines = [f"{results.system}: {len(claims)} programs, scored by task {task.name}, suite {evaluator.suite.name}"]
    if audit.formula is not None:
        lines.append(f"Its number `{audit.formula.number}` is read as this task's {audit.formula.words}.")
    return _conclude(
        arguments,
        claims,
        lines=[*lines, *results.notes[:_NOTES], *([f"{left} more notes: --json"] if left > 0 else [])],
        more={"system": results.system, "formula": known, "notes": list(results.notes)},
    )


def _audit_answers(arguments: argparse.Namespace, path: Path) -> int:
    _refuse(arguments, *_OF_FOLDERS, "trust", "workers", what="a file of answers")
    task = _task(arguments)
    judged = judge_file(path, task, suite=arguments.suite, instance=arguments.instance, key=arguments.key)
    claims = given.claims_of_answers(task, judged, arguments.claimed)
    if not arguments.json:
        output.print_fields(given.fields(task, judged))
        output.say()
    return _conclude(arguments, claims, more=given.details(judged))


def _refuse(arguments: argparse.Namespace, *names: str, what: str) -> None:
    """Raise InputError for an option that is not for what is audited."""
    wrong = next((name for name in names if getattr(arguments, name) not in (None, False)), None)
    if wrong is not None:
        raise InputError(f"--{wrong} does not apply: {arguments.what} is {what}")


def _task(arguments: argparse.Namespace) -> Task:
    if arguments.task is None:
        raise InputError(f"name the task to judge by: {command('audit', arguments.what, '--task', 'TASK')}")
    return load_task(arguments.task)


def _workers(arguments: argparse.Namespace) -> int:
    return arguments.workers or available_cores()


def _kept(*inputs: str) -> KeptResults:
    kept = KeptResults(*inputs)
    if kept.taken_over:
        output.note(f"An earlier audit was interrupted. Its {kept.taken_over} results are used again.", Tone.QUIET)
    if kept.trouble is not None:
        output.complain(f"results cannot be kept ({kept.trouble}): an interrupted audit will begin again")
    return kept


def _record(folder: Path, event: AuditedEvent) -> None:
    """Record an audit in a run of this user's. Another process may have begun to write it, or the disk may be full."""
    try:
        with Archive.open(folder) as archive:
            archive.add(event)
            unnoted = note_audit(archive.reader)
    except (ArchiveError, MachineError) as cause:
        output.complain(f"the audit was not recorded: {cause}")
        return
    if unnoted is not None:
        output.complain(unnoted)


def _conclude(
    arguments: argparse.Namespace,
    claims: Sequence[Claim],
    *,
    lines: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> int:
    """Print the claims, and return the exit code. `lines` stand above the table, `more` are further keys of the
    JSON."""
    code = audited.exit_code(claims)
    if arguments.json:
        output.print_json(audited.to_json(claims) | dict(more or {}))
        return code
    for line in lines:
        output.say(line, Tone.QUIET)
    output.print_table(_table(claims))
    output.say()
    output.say(audited.summary(claims), {0: Tone.GOOD, 1: Tone.BAD}.get(code, Tone.PLAIN))
    return code


def _shortened(program: str | None) -> str:
    """A commit's first letters; any other id whole."""
    is_commit = program is not None and len(program) == _COMMIT and set(program) <= set(string.hexdigits)
    return "-" if program is None else program[:SHORT] if is_commit else program


def _number(value: float | None) -> str:
    """With more digits than elsewhere: claims of this field differ in the seventh."""
    return "-" if value is None else f"{value:.12g}"


def _table(claims: Sequence[Claim]) -> Table:
    table = TableOf(claims)
    if any(claim.generation is not None for claim in claims):
        table.column("gen", lambda claim: "-" if claim.generation is None else str(claim.generation), number=True)
    table.column("program", lambda claim: _shortened(claim.program), fit=Fit.CUT)
    table.column("name", lambda claim: claim.name, fit=Fit.CUT)
    table.column("claimed", lambda claim: _number(claim.claimed), number=True)
    table.column("measured", lambda claim: _number(claim.measured), number=True)
    table.column(
        "difference", lambda claim: "-" if claim.difference is None else f"{claim.difference:.3g}", number=True
    )
    table.column("verdict", lambda claim: Cell(claim.verdict.value, _TONES[claim.verdict]))
    table.column("why", lambda claim: claim.why, fit=Fit.FOLD)
    return table.table()
