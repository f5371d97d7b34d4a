"""Makes a run of a result folder: each program with a text is evaluated here and recorded with what the folder claims.

Nothing of the folder decides anything: best, outcome and scores come from our evaluator alone. The run appears whole or
not at all.
"""

import hashlib
import math
import secrets
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from evaluator.evaluation import FARTHEST
from evaluator.sandbox.options import STRONGEST, SandboxOptions
from evaluator.task import Task
from evaluator.task_files import load_task
from evaluator.untrusted import one_line
from evaluator.waiting import threads
from evolve.apps.audit.conventions import with_entry_point
from evolve.apps.results.values import Report, ResultFolder, ResultProgram
from evolve.archive.archive import Archive
from evolve.archive.disk import os_errors_as_machine_errors
from evolve.archive.events import AskedEvent, EvaluatedEvent, ForeignClaim, verdict_of
from evolve.archive.git import require_git
from evolve.archive.records import ProgramRecord
from evolve.archive.reports import Insight, InsightsReport, Recommendation, Round, Scratchpad
from evolve.core.completion import Completion
from evolve.core.config import Config, render_config
from evolve.core.errors import ArchiveError, InputError, ProgramError
from evolve.core.files import read_source, require_disk
from evolve.core.program import OFFLINE, TUNER, Origin, PatchKind, normalised_hash
from evolve.core.settings import with_absolute_paths
from evolve.evaluation.beginning import identity_of
from evolve.evaluation.evaluators import Confirmation, EvaluatorPair, open_evaluators
from evolve.evaluation.generalisation import verify_on_fresh_instances
from evolve.evaluation.recording import record_held_out
from evolve.insights.answers import clean_body, read_insights
from evolve.lang.languages import language_of_task
from evolve.patch.features import features, lines_changed
from evolve.progress import Checking, Warned
from evolve.search.stopping import IMPORTED
from evolve.trust import own_run

UNKNOWN: Final = "unknown"
"""The name of a model that the folder does not name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportListener:
    """Who hears of an import: of each program that is done, and of the checks at the end."""

    done: Callable[[int, int], None] = lambda done, of: None
    tell: Callable[[Checking | Warned], None] = lambda event: None


def import_results(
    results: ResultFolder,
    config: Config,
    folder: Path,
    *,
    confined: SandboxOptions = STRONGEST,
    listener: ImportListener | None = None,
) -> str | None:
    """Make the run `folder` of a result folder: each program with a text is evaluated on the task of `config`. Returns
    why the run could not be noted as this user's, if so.

    The run's limit is the number of its programs; a resume raises it.

    Raises InputError, TaskError or ArchiveError for bad input, MachineError and SandboxError for the machine's.
    """
    require_git()
    config, heard = with_absolute_paths(config), listener or ImportListener()
    task = load_task(config.task)
    programs = [_runnable(program, task) for program in results.programs if program.claimed.source is not None]
    if not programs:
        raise InputError(f"{one_line(str(results.folder))}: none of its {len(results.programs)} programs has a text")
    if folder.exists():
        raise ArchiveError(f"{folder} exists already; choose another --name")
    require_disk(folder.parent)
    config = config.model_copy(update={"generations": max(1, len(programs) - 1)})  # all of them are made
    with open_evaluators(
        task, config.suite, workers=config.processes, control=read_source(task.initial), confined=confined
    ) as evaluators:
        run_id, unnoted = own_run(config)
        identity = identity_of(config, _hash(programs[0], evaluators), evaluators) | {"imported": results.system}
        with (
            _whole(folder) as place,
            Archive.create(place, config_text=render_config(config), identity=identity, run_id=run_id) as archive,
        ):
            _Import(archive, evaluators, results).record(programs, workers=config.processes, heard=heard)
            verify_on_fresh_instances(
                archive,
                task,
                evaluators.evaluator.suite,
                evaluators.others,
                interrupt=threading.Event(),
                tell=heard.tell,
            )
            archive.stopped(IMPORTED)
    return unnoted


@contextmanager
def _whole(folder: Path) -> Iterator[Path]:
    """A folder that gets its name once the body has ended, and is removed if the body fails."""
    place = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    try:
        yield place
        with os_errors_as_machine_errors(folder, "written"):
            place.rename(folder)
    except BaseException:  # boundary: whatever happened, nothing is left behind
        shutil.rmtree(place, ignore_errors=True)
        raise


def _runnable(program: ResultProgram, task: Task) -> ResultProgram:
    """The program, with the entry point of the task where it has that of the other system."""
    source = program.claimed.source or ""
    adapted = with_entry_point(source, task.name, task.entry_point)
    if adapted == source:
        return program
    claimed = replace(program.claimed, source=adapted)
    return replace(program, claimed=claimed).noted(f"its entry point {task.entry_point} was added by the import")


def _hash(program: ResultProgram, evaluators: EvaluatorPair) -> str:
    """The hash of a program as any run has it; of one that does not parse, that of its text."""
    source = program.claimed.source or ""
    try:
        return normalised_hash(source, language_of_task(evaluators.task))
    except ProgramError:
        return hashlib.sha256(source.encode("utf-8")).hexdigest()


class _Import:
    """Records the programs of a result folder as generations 0, 1, ... of an archive."""

    def __init__(self, archive: Archive, evaluators: EvaluatorPair, results: ResultFolder) -> None:
        self._archive, self._evaluators, self._results = archive, evaluators, results
        self._records: dict[str, ProgramRecord] = {}
        self._reports = list(results.reports)

    def record(self, programs: Sequence[ResultProgram], *, workers: int, heard: ImportListener) -> None:
        """Evaluate the programs, equal texts once, and record them in the order given; a would-be best is confirmed."""
        evaluate, sources = self._evaluators.evaluator.evaluate, [program.claimed.source or "" for program in programs]
        with threads(workers, cancel=self._evaluators.cancel) as pool:
            evaluations = {source: pool.submit(evaluate, source) for source in dict.fromkeys(sources)}
            for number, (program, source) in enumerate(zip(programs, sources, strict=True)):
                evaluation = pool.result(evaluations[source])
                if number == 0:
                    confirmation = self._evaluators.judge(source)
                else:
                    confirmation = self._evaluators.confirm_if_best(self._archive, number, source, evaluation)
                self._record_one(number, program, source, confirmation)
                self._record_reports(up_to=number + 1 if number + 1 < len(programs) else None)
                heard.done(number + 1, len(programs))

    def _record_one(self, number: int, program: ResultProgram, source: str, confirmation: Confirmation) -> None:
        parent, inspirations = self._origins(program)
        parents = () if parent is None else (parent.commit,)
        kind = program.proposed.kind if parents else PatchKind.INITIAL
        kind = PatchKind.FULL if parents and kind is PatchKind.INITIAL else kind
        model = self._model(program.proposed.model) if number else ""
        if parents:
            question = AskedEvent(
                generation=number,
                attempt=0,
                kind=kind,
                island=program.ancestry.island,
                parents=parents,
                inspirations=inspirations,
                model=model,
            )
            answer = Completion(text=program.proposed.answer, finish_reason="unknown", usage=program.proposed.usage)
            self._archive.asked(question, program.proposed.prompt or None)
            self._archive.answered(number, 0, answer)
        language = language_of_task(self._evaluators.task)
        before = "" if parent is None else self._archive.reader.source(parent)
        event = EvaluatedEvent(
            generation=number,
            attempt=0,
            parents=parents,
            inspirations=inspirations,
            island=program.ancestry.island,
            origin=Origin(
                kind=kind,
                model=model,
                patch_name=program.claimed.name or ("unnamed" if number else "initial_program"),
                description=program.proposed.description,
                features=features(before, source, language) if parents else (),
                lines=lines_changed(before, source) if parents else None,
            ),
            source_hash=_hash(program, self._evaluators),
            evaluation=verdict_of(confirmation.evaluation),
            claimed=_claim(program),
        )
        patch_text, answers = program.proposed.answer, confirmation.evaluation.answers
        record = self._archive.evaluated(event, source=source, patch_text=patch_text, answers=answers)
        self._records[program.id] = record
        record_held_out(self._archive, self._evaluators, record, confirmation)

    def _origins(self, program: ResultProgram) -> tuple[ProgramRecord | None, tuple[str, ...]]:
        """The parent, and the commits of the inspirations, as far as they are recorded."""
        parent = self._records.get(program.ancestry.parent or "")
        named = dict.fromkeys(program.ancestry.inspirations)
        known = [self._records[name] for name in named if name in self._records]
        return parent, tuple(record.commit for record in known if record is not parent)

    def _model(self, name: str) -> str:
        """The name of a model; never one that stands for code of ours."""
        return f"{name} ({self._results.system})" if name in (OFFLINE, TUNER) else name or UNKNOWN

    def _record_reports(self, up_to: int | None) -> None:
        """Record the reports that were written about at most that many programs (None: all that are left)."""
        while self._reports and (up_to is None or self._reports[0].programs <= up_to):
            self._archive.closed(Round(report=_report(self._reports.pop(0), self._results.system)))


def _claim(program: ResultProgram) -> ForeignClaim:
    """What the folder claims of a program, as an event holds it."""
    claimed, score, stated = program.claimed, program.claimed.score, None
    if score is not None and not (math.isfinite(score) and abs(score) <= FARTHEST):
        score, stated = None, str(score)
    return ForeignClaim(id=program.id, score=score, correct=claimed.correct, notes=claimed.notes, stated=stated)


def _report(report: Report, system: str) -> InsightsReport:
    """A report of the other system as one of ours: its text is another model's, and its figures are claims."""
    notes, recommendations = read_insights(report.text)
    preface, *sections = (clean_body(text) for text in notes)
    successful, ineffective, implementation, performance = (
        (Insight(text=(text,)),) if text else () for text in sections
    )
    return InsightsReport(
        warning=f"{system} wrote this ({one_line(report.name, 60)}). Its figures are claims, which nobody has checked.",
        scratchpad=Scratchpad(
            preface=(preface,) if preface else (), sections=(successful, ineffective, implementation, performance)
        ),
        recommendations=tuple(Recommendation(text=(text,)) for text in recommendations),
    )
