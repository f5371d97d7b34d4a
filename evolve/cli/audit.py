"""`evolve audit`: score every claim again, and say which hold."""

import argparse
from collections.abc import Sequence

from evolve.apps.audit import claims as audited
from evolve.apps.audit.claims import Claim, ClaimVerdict
from evolve.apps.audit.measuring import KeptResults
from evolve.apps.audit.recorded import RunAudit, event_of
from evolve.archive.archive import Archive
from evolve.archive.events import AuditedEvent
from evolve.archive.reader import RunReader
from evolve.cli import output
from evolve.cli.options import confined, warn_of
from evolve.core.config import available_cores
from evolve.core.errors import ArchiveError, MachineError
from evolve.evaluation.evaluators import open_evaluators
from evolve.review.runs import resolve_run
from evolve.review.scores import value_text
from evolve.review.table import Cell, Fit, Table, TableOf, Tone
from evolve.trust import is_own, replayed_task

_TONES = {ClaimVerdict.HOLDS: Tone.GOOD, ClaimVerdict.FALLS: Tone.BAD, ClaimVerdict.UNJUDGED: Tone.QUIET}


def run(arguments: argparse.Namespace) -> int:
    """Audit, and print a row for each claim: 1 if a claim falls, 3 if none could be judged, else 0."""
    claims = _audit_run(arguments)
    if arguments.json:
        output.print_json(audited.to_json(claims))
    else:
        output.print_table(_table(claims))
        output.say()
        code = audited.exit_code(claims)
        output.say(audited.summary(claims), Tone.BAD if code == 1 else Tone.GOOD if code == 0 else Tone.PLAIN)
    return audited.exit_code(claims)


def _audit_run(arguments: argparse.Namespace) -> Sequence[Claim]:
    folder = resolve_run(arguments.what)
    with RunReader.open(folder) as archive:
        task = replayed_task(archive, typed=arguments.task, trust=arguments.trust, verb="audit")
        suite, seed = str(archive.identity["suite"]), archive.identity["seed"]
        initial, workers = archive.source(archive.programs[0]), arguments.workers or available_cores()
        with open_evaluators(
            task, suite, workers=workers, control=initial, confined=confined(arguments), seed=seed
        ) as evaluators:
            warn_of(evaluators.evaluator.sandbox)
            kept = KeptResults(str(archive.run_id), initial, str(seed))
            _say_kept(kept)
            audit = RunAudit(archive, evaluators, kept, workers=workers)
            with output.progress("scored again", audit.size) as shown:
                claims = audit.claims(step=shown.step)
            event = event_of(claims, evaluators.evaluator)
        own = is_own(archive) and not archive.running
    if own:
        _record(arguments, event)
    kept.remove()
    return claims


def _say_kept(kept: KeptResults) -> None:
    if kept.taken_over:
        output.note(f"An earlier audit was interrupted. Its {kept.taken_over} results are used again.", Tone.QUIET)
    if kept.trouble is not None:
        output.complain(f"results cannot be kept ({kept.trouble}): an interrupted audit will begin again")


def _record(arguments: argparse.Namespace, event: AuditedEvent) -> None:
    """Record an audit in a run of this user's. Another process may have begun to write it, or the disk may be full."""
    try:
        with Archive.open(resolve_run(arguments.what)) as archive:
            archive.add(event)
    except (ArchiveError, MachineError) as cause:
        output.complain(f"the audit was not recorded: {cause}")


def _table(claims: Sequence[Claim]) -> Table:
    table = TableOf(claims)
    table.column("gen", lambda claim: "-" if claim.generation is None else str(claim.generation), number=True)
    table.column("program", lambda claim: "-" if claim.program is None else claim.program[:8])
    table.column("name", lambda claim: claim.name, fit=Fit.CUT)
    table.column("claimed", lambda claim: value_text(claim.claimed), number=True)
    table.column("measured", lambda claim: value_text(claim.measured), number=True)
    table.column("difference", lambda claim: value_text(claim.difference), number=True)
    table.column("verdict", lambda claim: Cell(claim.verdict.value, _TONES[claim.verdict]))
    table.column("why", lambda claim: claim.why, fit=Fit.FOLD)
    return table.table()
