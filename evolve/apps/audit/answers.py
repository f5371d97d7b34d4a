"""Answers in a file, judged exactly: lists of heights, circles or permutations, as people publish them.

A file is JSON, or CSV with one number or one row a line. It may hold the answer itself, a list with an answer for each
instance, or either inside objects (`{"solution": {"values": [...]}}`). Every list in an object is tried, and exactly
one must be an answer to the task; `key` names one where several are. A file is data: nothing of it is run.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from evaluator.evaluation import Evaluation, InstanceResult, Outcome
from evaluator.objective import Direction, ListedValue
from evaluator.suite_scorer import score_results
from evaluator.task import AsGiven, Instance, Suite, Task
from evaluator.untrusted import one_line
from evolve.core.errors import InputError
from evolve.core.files import read_text

MOST_BYTES: Final = 16 * 1024 * 1024
"""The largest file that is read: twice the answers that this project keeps for one program."""
MOST_DEPTH: Final = 12
"""The deepest nesting of lists and objects that is read."""
MOST_LISTS: Final = 100
"""The most lists in objects that are tried."""
MOST_DIGITS: Final = 4000
"""The most characters of a whole number that are read; no float has more than 309 digits before its point."""
DIGITS: Final = 15
"""Decimal places of a value."""
_SHOWN: Final = 5
"""The most keys in a message."""
_CLOSE: Final = Fraction(1, 10**9)
"""The relative distance at which two values count as equal: listed values are rounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """The place of a value among those listed for the task: `position` is 1 if none is better. `next_better` is the
    worst of the better ones; `same` are those that differ by rounding only."""

    position: int
    listed: int
    next_better: ListedValue | None
    same: tuple[ListedValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """One answer with the judge's verdict. `value` is exact, after a repair where the task repairs answers, and None
    for an answer that is refused; `detail` says why it is. `given` is the answer before the repair; None where the
    judge repairs nothing, or refuses."""

    instance: int
    description: str
    outcome: Outcome
    value: Fraction | None
    detail: str
    given: AsGiven | None
    rank: Rank | None

    @property
    def digits(self) -> str:
        """The value with `DIGITS` decimal places; empty without one."""
        return "" if self.value is None else decimal_text(self.value, DIGITS)

    @property
    def valid(self) -> bool:
        """Whether the answer is valid as it stands in the file, without any tolerance or repair."""
        return self.value is not None and (self.given is None or self.given.tolerance == 0)

    @property
    def tolerance(self) -> Fraction | None:
        """The least tolerance with which the answer would be valid as given: 0 if it is, None if it is refused."""
        if self.value is None:
            return None
        return Fraction(0) if self.given is None else self.given.tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedFile:
    """The answers of a file: `key` is where in the file they stand (empty: the file is the answer), `suite` the suite
    that they were taken for. `evaluation` is that of the suite, where instances without an answer count as failed;
    `rank` is its place among the values listed for the suite, None unless all instances are answered."""

    path: Path
    key: str
    suite: str
    answers: tuple[JudgedAnswer, ...]
    evaluation: Evaluation
    rank: Rank | None


def judge_file(
    path: Path, task: Task, *, suite: str | None = None, instance: int | None = None, key: str | None = None
) -> JudgedFile:
    """Judge the answers in a file. Without `suite`, the task's suites are tried in order, the default first. Raises
    InputError, which names file, key and value, and TaskError."""
    if task.uses_clock or task.self_judged:
        why = "its score is a speed" if task.uses_clock else "its script scores programs itself"
        raise InputError(f"task {task.name!r} cannot judge a file of answers: {why}")
    document = read_answers(path)
    lists = _lists_in(path, document, key)
    names = [suite] if suite is not None else sorted(task.suites, key=lambda name: name != task.default_suite)
    suites = [task.suite(name) for name in names]
    if instance is not None and not any(0 <= instance < len(tried.instances) for tried in suites):
        raise InputError(f"no suite of task {task.name!r} has an instance {instance} (suites: {', '.join(names)})")
    readings = [_reading(task, suites, where, answer, instance) for where, answer in lists]
    accepted = [reading for reading in readings if reading.is_answer]
    if len(accepted) > 1:
        keys = ", ".join(one_line(reading.key, 60) for reading in accepted[:_SHOWN])
        raise InputError(f"{_shown(path)}: holds several answers to task {task.name!r}: {keys}; name one by its key")
    if len(readings) > 1 and not accepted:
        tried = "; ".join(f"{one_line(each.key, 60)}: {each.results[0].detail}" for each in readings[:_SHOWN])
        raise InputError(f"{_shown(path)}: none of its {len(readings)} lists answers task {task.name!r} ({tried})")
    reading = accepted[0] if accepted else readings[0]
    if len(reading.fits) > 1:
        fits = ", ".join(str(result.instance) for result in reading.fits)
        raise InputError(
            f"{_where(path, reading.key)}: it answers instances {fits} of suite {reading.suite.name!r}; say which one"
        )
    return _judged_file(path, task, reading)


def read_answers(path: Path) -> Any:
    """The document in a file: JSON, or the rows of a CSV file. Raises InputError."""
    size = path.stat().st_size if path.is_file() else 0
    if size > MOST_BYTES:
        raise InputError(f"{_shown(path)}: has {size} bytes; at most {MOST_BYTES} are read")
    text = read_text(path).removeprefix("\ufeff")
    if path.suffix.lower() == ".csv":
        return _rows(path, text)
    try:
        document = json.loads(text, object_pairs_hook=_object, parse_int=_whole)
    except RecursionError:
        raise InputError(f"{_shown(path)}: is nested deeper than {MOST_DEPTH} levels") from None
    except ValueError as cause:
        raise InputError(f"{_shown(path)}: not JSON ({one_line(str(cause))})") from None
    if (deep := _too_deep(document)) is not None:
        raise InputError(f"{_where(path, deep)}: is nested deeper than {MOST_DEPTH} levels")
    return document


def decimal_text(value: Fraction, places: int) -> str:
    """A number in decimal notation, rounded to the nearest."""
    scaled = round(abs(value) * 10**places)
    whole, rest = divmod(scaled, 10**places)
    sign = "-" if value < 0 and scaled else ""
    return f"{sign}{whole}.{rest:0{places}d}" if places else f"{sign}{whole}"


def rank_among(listed: Sequence[ListedValue], value: Fraction, direction: Direction) -> Rank | None:
    """The place of a value; None where none is listed."""
    if not listed:
        return None
    leads = [(direction.sign * (one.value - value), one) for one in listed]
    better = [(lead, one) for lead, one in leads if lead > abs(one.value) * _CLOSE]
    return Rank(
        position=1 + len(better),
        listed=len(listed),
        next_better=min(better, key=lambda pair: pair[0])[1] if better else None,
        same=tuple(one for lead, one in leads if abs(lead) <= abs(one.value) * _CLOSE),
    )


# -- reading -----------------------------------------------------------------------------------------------------------


def _rows(path: Path, text: str) -> list[Any]:
    """The numbers of a CSV file: a list of numbers if every line has one, or there is one line; else a list of rows."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            rows.append([_cell(path, number, cell.strip()) for cell in line.split(",")])
    if len(rows) == 1:
        return rows[0]
    return [row[0] for row in rows] if all(len(row) == 1 for row in rows) else rows


def _cell(path: Path, line: int, cell: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            continue
    raise InputError(f"{_shown(path)} line {line}: '{one_line(cell, 40)}' is not a number")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON. Raises ValueError for a key that it holds twice: readers differ on which one counts."""
    document = dict(pairs)
    if len(document) < len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key '{one_line(key, 60)}' is there twice")
    return document


def _whole(digits: str) -> int:
    """A whole number of JSON. Raises ValueError for one with more digits than Python reads."""
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a whole number has {len(digits)} characters; at most {MOST_DIGITS} are read")
    return int(digits)


def _too_deep(document: Any) -> str | None:
    """The key of a value that is nested too deep; None without one."""
    waiting: list[tuple[tuple[Any, ...], Any, int]] = [((), document, 1)] if isinstance(document, dict | list) else []
    while waiting:
        key, value, depth = waiting.pop()
        if depth > MOST_DEPTH:
            return ".".join(map(str, key))
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if isinstance(inner, dict | list):
                waiting.append(((*key, name), inner, depth + 1))
    return None


def _lists_in(path: Path, document: Any, key: str | None) -> list[tuple[str, Any]]:
    """What may be an answer, each with its key: the document unless it is an object, else the lists in its objects; or
    the value that `key` names. Raises InputError."""
    if key is not None:
        document = _value_at(path, document, key)
    if not isinstance(document, dict):
        return [(key or "", document)]
    lists: list[tuple[str, Any]] = []
    for number, (where, value) in enumerate(_lists_below(document), 1):
        if all(value != other for _, other in lists):  # some files hold their best answer twice
            lists.append((f"{key}.{where}" if key else where, value))
        if number > MOST_LISTS:
            raise InputError(
                f"{_where(path, key or '')}: holds more than {MOST_LISTS} lists; name the answer by its key"
            )
    if not lists:
        raise InputError(f"{_where(path, key or '')}: holds no list (its keys: {_keys(document)})")
    return lists


def _keys(document: Mapping[str, Any]) -> str:
    return ", ".join(one_line(name, 40) for name in list(document)[:_SHOWN]) or "none"


def _value_at(path: Path, document: Any, key: str) -> Any:
    """The value under a key such as `solution.values`, whose parts may hold dots themselves. Raises InputError."""
    if not key:
        return document
    parts = key.split(".")
    for length in range(len(parts), 0, -1):
        head, rest = ".".join(parts[:length]), ".".join(parts[length:])
        if isinstance(document, dict) and head in document:
            return _value_at(path, document[head], rest)
    keys = _keys(document) if isinstance(document, dict) else "none"
    raise InputError(f"{_shown(path)}: there is no key '{one_line(key, 60)}' (there: {keys})")


def _lists_below(document: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """The lists in an object and in the objects in it, each with its key; centres and radii as one list of circles."""
    centres, radii = document.get("centers", document.get("centres")), document.get("radii")
    if isinstance(centres, list) and isinstance(radii, list) and len(centres) == len(radii):
        circles = [[*centre, radius] for centre, radius in zip(centres, radii, strict=True) if isinstance(centre, list)]
        yield "centers and radii", circles
        return
    for key, value in document.items():
        if isinstance(value, list):
            yield key, value
        elif isinstance(value, dict):
            for inner, found in _lists_below(value):
                yield f"{key}.{inner}", found


# -- judging -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """A value of the file, taken as answers to instances of a suite, with the verdicts on them. `fits` has the verdicts
    on the instances that a single answer may be meant for, more than one if that is not clear."""

    key: str
    suite: Suite
    answers: Mapping[int, Any]
    results: Sequence[InstanceResult]
    fits: Sequence[InstanceResult] = ()

    @property
    def is_answer(self) -> bool:
        """Whether at least one instance has an answer, valid or not."""
        return any(_is_answer(result) for result in self.results)


def _is_answer(result: InstanceResult) -> bool:
    return result.outcome is not Outcome.INVALID_OUTPUT


def _reading(task: Task, suites: Sequence[Suite], key: str, value: Any, instance: int | None) -> _Reading:
    """A value as answers to the first suite that takes it; to the first suite, refused, if none does."""
    refused = []
    for suite in suites:
        whole = suite.instances if instance is None else suite.instances[instance : instance + 1]
        if len(whole) > 1 and isinstance(value, list) and len(value) == len(whole):
            each = dict(enumerate(value))
            results = [_result(task, suite.instances[at], answer) for at, answer in each.items()]
            reading = _Reading(key=key, suite=suite, answers=each, results=results)
            if reading.is_answer:
                return reading
        results = [_result(task, tried, value) for tried in whole]
        fits = [result for result in results if result.outcome is Outcome.OK] or list(filter(_is_answer, results))
        for chosen in [*fits, *results][:1]:
            answers = {chosen.instance: value}
            reading = _Reading(key=key, suite=suite, answers=answers, results=[chosen], fits=fits)
            if fits:
                return reading
            refused.append(reading)
    return refused[0]


def _result(task: Task, instance: Instance, answer: object) -> InstanceResult:
    verdict = task.judge.judge(instance, answer)
    return InstanceResult(
        instance=instance.index, outcome=verdict.outcome, cost=verdict.cost, detail=one_line(verdict.detail, 300)
    )


def _missing(instance: Instance) -> InstanceResult:
    detail = "the file has no answer to it"
    return InstanceResult(instance=instance.index, outcome=Outcome.NOT_RUN, cost=None, detail=detail)


def _judged_file(path: Path, task: Task, reading: _Reading) -> JudgedFile:
    suite, by_instance = reading.suite, {result.instance: result for result in reading.results}
    evaluation = score_results(task, suite, [by_instance.get(at.index) or _missing(at) for at in suite.instances])
    whole = [listed for listed in suite.best_known if listed.instance is None]
    value, objective = evaluation.value, task.objective
    rank = None if value is None else rank_among(whole, Fraction(value), objective.direction)
    return JudgedFile(
        path=path,
        key=reading.key,
        suite=suite.name,
        answers=tuple(_judged(task, suite, result, reading.answers[result.instance]) for result in reading.results),
        evaluation=evaluation,
        rank=rank,
    )


def _judged(task: Task, suite: Suite, result: InstanceResult, answer: object) -> JudgedAnswer:
    instance, cost = suite.instances[result.instance], result.cost
    listed = [one for one in suite.best_known if one.instance == instance.index]
    return JudgedAnswer(
        instance=instance.index,
        description=task.judge.describe(instance),
        outcome=result.outcome,
        value=cost,
        detail=result.detail,
        given=None if cost is None else task.as_given(instance, answer),
        rank=None if cost is None else rank_among(listed, cost, task.objective.per_instance),
    )


def _where(path: Path, key: str) -> str:
    return f"{_shown(path)}: {one_line(key, 80)}" if key else _shown(path)


def _shown(path: Path) -> str:
    return one_line(str(path))
