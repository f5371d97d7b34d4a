"""The answers of a best program as a file that the task's judge can score again on any machine: behind
`evolve export --answers` and `evolve score --answers`."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evaluator.certificate import MOST_KEPT
from evaluator.evaluation import Evaluation
from evaluator.sandbox.protocol import strict_json
from evaluator.task import Suite, Task
from evaluator.task_files import built_in_tasks
from evaluator.untrusted import one_line
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.core.errors import ArchiveError, InputError
from evolve.core.files import read_text
from evolve.core.invocation import command

_ROUNDING: Final = 1e-12
"""The relative tolerance for scores, since the last digit of a logarithm depends on the machine. Costs are compared
exactly."""
_SHOWN: Final = 5
_TEXTS: Final = ("task", "suite", "task_digest", "metric")
_NUMBERS: Final = ("combined_score", "value")
_ENTRY: Final = ("instance", "cost", "answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A file of answers with their recorded values. `answers` and `costs` (exact, as text, or None) are keyed by the
    index of their instance. The judge can confirm every value in the file."""

    path: Path
    task: str
    suite: str
    task_digest: str
    metric: str
    score: float
    value: float
    answers: Mapping[int, object]
    costs: Mapping[int, str | None]


def certificate_text(archive: RunReader, record: ProgramRecord) -> str:
    """The file of answers of a program that became the best, as JSON. Raises ArchiveError where none are kept."""
    answers, evaluation = archive.answers(record), archive.evaluation(record)
    if answers is None:
        raise ArchiveError(f"{archive.folder}: generation {record.generation} has no answers on record: {_why(record)}")
    if len(answers) != len(evaluation.results):
        raise ArchiveError(
            f"{archive.folder}: the answers of generation {record.generation} are to {len(answers)} instances, and "
            f"its evaluation is of {len(evaluation.results)}"
        )
    head = {
        "task": evaluation.task,
        "suite": evaluation.suite,
        "task_digest": archive.identity.get("task_digest", ""),
        "combined_score": evaluation.combined_score,
        "metric": evaluation.objective.metric,
        "value": evaluation.value,
    }
    lines = [
        json.dumps(
            {"instance": result.instance, "cost": None if result.cost is None else str(result.cost), "answer": answer}
        )
        for result, answer in zip(evaluation.results, answers, strict=True)
    ]
    return json.dumps(head, indent=1)[:-2] + ',\n "instances": [\n' + ",\n".join(lines) + "\n]}\n"


def _why(record: ProgramRecord) -> str:
    if record.stale:
        return "its score is an earlier judge's"
    if record.self_judged:
        return "it is self-judged: the task has no judge to be given answers"
    if record.spread is not None:
        return "its score is a speed, which answers cannot prove"
    return (
        f"answers of at most {MOST_KEPT >> 20} MB are kept for programs that became the best, "
        "if the judge gave the same verdict twice"
    )


def read_certificate(path: Path) -> Certificate:
    """Read a file of answers. Raises InputError for any other file."""
    try:
        document = strict_json(read_text(path))
    except (ValueError, RecursionError) as cause:
        raise _wrong(path, f"not plain JSON: {cause}") from None
    if not isinstance(document, dict):
        raise _wrong(path, "not a JSON object")
    _require_keys(path, document, (*_TEXTS, *_NUMBERS, "instances"))
    texts = {key: value for key in _TEXTS if isinstance(value := document.get(key), str)}
    if len(texts) < len(_TEXTS):
        raise _wrong(path, f"{', '.join(_TEXTS)} must be texts")
    (score, value), instances = (document.get(key) for key in _NUMBERS), document.get("instances")
    if not isinstance(score, float) or not isinstance(value, float):
        raise _wrong(path, f"{' and '.join(_NUMBERS)} must be numbers, such as 7.0")
    if not isinstance(instances, list):
        raise _wrong(path, "`instances` must be a list")
    answers: dict[int, object] = {}
    costs: dict[int, str | None] = {}
    for entry in instances:
        index = entry.get("instance") if isinstance(entry, dict) else None
        if type(index) is not int or index in answers or "answer" not in entry or not _is_cost(entry.get("cost")):
            raise _wrong(path, "each of `instances` must have `instance` (its index, once), `cost` and `answer`")
        _require_keys(path, entry, _ENTRY)
        answers[index], costs[index] = entry["answer"], entry.get("cost")
    return Certificate(path=path, score=score, value=value, answers=answers, costs=costs, **texts)


def _require_keys(path: Path, document: Mapping[str, Any], allowed: Sequence[str]) -> None:
    """Raise InputError for a key that no judge can confirm, since a reader would trust it."""
    foreign = [key for key in document if key not in allowed]
    if foreign:
        raise _wrong(path, f"no judge can confirm its key {foreign[0]!r}; remove it")


def _is_cost(value: object) -> bool:
    return value is None or isinstance(value, str)


def _wrong(path: Path, why: str) -> InputError:
    made_by = command("export", "RUN", "best", "--answers", "FILE")
    return InputError(f"{one_line(str(path))}: not a file of answers ({one_line(why, 300)}); to write one: {made_by}")


def task_named(certificate: Certificate, typed: str | None) -> str:
    """The task to judge by: the one typed, or the built-in one that the file names. A file never loads another task,
    since its origin is not trusted. Raises InputError."""
    if typed is None and certificate.task not in built_in_tasks():
        raise InputError(
            f"{one_line(str(certificate.path))}: its task '{one_line(certificate.task, 60)}' is not built in; name "
            f"its folder: {command('score', '--answers', certificate.path, '--task', 'FOLDER')}"
        )
    return certificate.task if typed is None else typed


def require_same_judge(certificate: Certificate, task: Task) -> None:
    """Raise InputError unless the task is the one that judged the answers when they were recorded."""
    if certificate.task_digest != task.digest:
        raise InputError(
            f"{one_line(str(certificate.path))}: another judge scored these answers: the digest of task {task.name!r} "
            f"in {task.folder} is {task.digest[:12]}, and the file has {one_line(certificate.task_digest, 12)}; use "
            "the version of the task that scored them"
        )


def differences(certificate: Certificate, evaluation: Evaluation, suite: Suite) -> list[str]:
    """The first few differences between the recorded values and the judge's present ones, a sentence each."""
    sentences = []
    for result in evaluation.results:
        before = certificate.costs.get(result.instance)
        if result.instance not in certificate.answers:
            sentences.append(f"instance {result.instance}: there is no answer")
        elif (None if result.cost is None else str(result.cost)) != before:
            now = result.outcome.value if result.cost is None else str(result.cost)
            sentences.append(f"instance {result.instance}: {_brief(now)} now, {_brief(str(before))} recorded")
    indices = {instance.index for instance in suite.instances}
    sentences += [
        f"instance {index}: suite {suite.name} has none" for index in sorted(certificate.answers.keys() - indices)
    ]
    numbers = {
        "combined_score": (evaluation.combined_score, certificate.score),
        "value": (evaluation.value, certificate.value),
    }
    sentences += [
        f"{key}: {now!r} now, {before!r} recorded"
        for key, (now, before) in numbers.items()
        if now is None or not math.isclose(now, before, rel_tol=_ROUNDING)
    ]
    if evaluation.objective.metric != certificate.metric:
        sentences.append(f"metric: {_brief(evaluation.objective.metric)} now, {_brief(certificate.metric)} recorded")
    more = len(sentences) - _SHOWN
    return sentences[:_SHOWN] + ([f"and {more} more"] if more > 0 else [])


def _brief(text: str) -> str:
    return one_line(text, 60)


def to_json(certificate: Certificate, row: Mapping[str, Any], differences: list[str]) -> dict[str, Any]:
    """The keys of `evolve score --answers --json`: those of a program's score, and the recorded values."""
    metrics = {name: value for name, value in row["metrics"].items() if name != "runtime_s"}  # nothing ran
    recorded = {"recorded_score": certificate.score, "equal": not differences, "differences": differences}
    return dict(row) | {"metrics": metrics} | recorded
