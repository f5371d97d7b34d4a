"""The result of an evaluator script, RESULT.json, read as untrusted input.

The program shares the script's process, so every byte may be the program's. These keys of a JSON object are read:

    correct         true or false; must be there
    combined_score  a finite number, larger is better; must be there when `correct`
    metrics         {"name": number}: shown to people and to the program's author
    feedback        a text for the program's author
    artifacts       {"name": "text"}: the same, such as a compiler's messages
    private         any JSON: recorded and shown, and reaches no prompt and no insights report
    answers         one per instance, null where there is none: where a judge decides, in place of the first three

NaN, infinities, numbers beyond a float and duplicate keys are errors, and a boolean is not a number. A wrong metric or
text is left out, with a note; a wrong score is a ResultError.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from evaluator.evaluation import FARTHEST
from evaluator.objective import COMBINED
from evaluator.sandbox.protocol import ProtocolError, check_depth, strict_json
from evaluator.untrusted import block, cut, one_line

MOST_METRICS: Final = 50
MOST_FEEDBACK: Final = 4000
"""Characters of the script's feedback that are kept, and of all its artifacts together."""
MOST_ARTIFACT: Final = 2000
MOST_ARTIFACTS: Final = 20
MOST_PRIVATE: Final = 16 * 1024
"""Characters of JSON, as the script wrote it."""
_LONGEST_PATH: Final = 4096
_MOST_NOTES: Final = 10
_FEW: Final = 300
"""Characters beyond the limit that are kept where they are less than three lines."""
_METRIC: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@/ -]{0,59}", re.ASCII)
_TAKEN: Final = frozenset({COMBINED, "success_rate", "published_score", "runtime_s"})
"""Names that mean something else already."""


class ResultError(Exception):
    """Raised for an invalid result; the message says why, for the program's author."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptResult:
    """A script's result, made harmless. `score` is None only for a program that is not correct; `notes` say what was
    left out; `answers` is None where no judge decides."""

    correct: bool
    score: float | None
    metrics: Mapping[str, float]
    private: Any
    feedback: str
    artifacts: Mapping[str, str]
    notes: tuple[str, ...]
    answers: tuple[Any, ...] | None = None

    def as_text(self) -> str:
        """The text for the program's author: feedback, artifacts and notes."""
        parts = [self.feedback, *(f"{name}:\n{text}" for name, text in self.artifacts.items()), *self.notes]
        return "\n\n".join(filter(None, parts))


def read_result(raw: bytes, *, answers: int | None = None, without_paths: Callable[[str], str] = str) -> ScriptResult:
    """The result in a file. `answers` is their number where a judge decides; `without_paths` removes the paths of this
    machine from a text. Raises ResultError."""
    document = _parsed(raw)
    notes: list[str] = []
    correct, score, given = True, None, None
    if answers is None:
        correct, score = _verdict(document)
    else:
        given = document.get("answers")
        if not isinstance(given, list) or len(given) != answers:
            what = f"{len(given)} of them" if isinstance(given, list) else _describe(given, "answers" in document)
            raise ResultError(f"`answers` must be a list of {answers}, one per instance; there is {what}")
    metrics = _metrics(document.get("metrics", {}), notes) if answers is None else {}
    feedback = document.get("feedback", "")
    if feedback is not None and not isinstance(feedback, str):
        notes.append("`feedback` was left out: it is no text")
    artifacts = _artifacts(document.get("artifacts", {}), notes, without_paths)
    more = [f"and {len(notes) - _MOST_NOTES} more were left out"] if len(notes) > _MOST_NOTES else []
    return ScriptResult(
        correct=correct,
        score=score,
        metrics=metrics,
        private=_each_text(_private(document.get("private")), without_paths),
        feedback=_kept(feedback, MOST_FEEDBACK, without_paths) if isinstance(feedback, str) else "",
        artifacts=artifacts,
        notes=(*notes[:_MOST_NOTES], *more),
        answers=None if given is None else tuple(given),
    )


def harmless(text: str, limit: int) -> str:
    """Untrusted text with its lines, cut to about `limit` characters."""
    return block(cut(text.strip("\r\n"), limit), 2 * limit)


def _kept(text: str, limit: int, without_paths: Callable[[str], str]) -> str:
    """A script's text, made harmless, without paths of this machine, cut to about `limit` characters. Only the part
    that may be needed is read, without a path that would be cut in two."""
    text = text.strip("\r\n")
    read = text[: limit + _LONGEST_PATH]
    if len(read) < len(text):
        read = read[: max(limit, 1 + max(map(read.rfind, " \t\r\n")))]
    shown, unread = without_paths(read), len(text) - len(read)
    if unread:
        shown = f"{shown[:limit]} [... {max(0, len(shown) - limit) + unread} characters cut]"
    return harmless(shown, limit if not unread else len(shown))


def end_of(text: str, limit: int) -> str:
    """The last `limit` characters of untrusted output, which say why a script ended. Fewer than three lines too many
    are kept: cutting a traceback would save little."""
    text = text.rstrip()
    left = len(text) - limit
    few = left <= _FEW and text.count("\n", 0, max(0, left)) < 3
    shown = text if few else f"[... {left} characters cut]\n{text[-limit:]}"
    return block(shown, 2 * limit)


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        document = strict_json(raw.decode("utf-8"))
        check_depth(document)
    except UnicodeDecodeError as cause:
        raise ResultError(f"it is not UTF-8 text (byte {cause.start})") from None
    except ProtocolError:
        raise ResultError("it is nested too deeply") from None
    except (ValueError, RecursionError) as cause:
        raise ResultError(f"it is not plain JSON ({one_line(str(cause), 120)})") from None
    if not isinstance(document, dict):
        raise ResultError(f"it must be a JSON object, and is {_describe(document)}")
    return document


def _verdict(document: Mapping[str, Any]) -> tuple[bool, float | None]:
    correct = document.get("correct")
    if not isinstance(correct, bool):
        raise ResultError(f"`correct` must be true or false, and is {_describe(correct, 'correct' in document)}")
    if not correct:
        return False, None
    score = _number(document.get(COMBINED))
    if score is None:
        shown = _describe(document.get(COMBINED), COMBINED in document)
        raise ResultError(
            f"`{COMBINED}` must be a finite number (at most {FARTHEST:g}) where `correct` is true, and is {shown}"
        )
    return True, score


def _number(value: object) -> float | None:
    """A number as a float; None for anything else, and too far from 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -FARTHEST <= value <= FARTHEST:
        return None
    return float(value) + 0.0  # no negative zero


def _metrics(given: object, notes: list[str]) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for name, value in _entries(given, "metrics", notes):
        number = _number(value)
        if not _METRIC.fullmatch(name):
            why = "its name must be a plain one of at most 60 characters"
        elif name in _TAKEN:
            why = "the name means something else already"
        elif number is None:
            why = f"it is {_describe(value)}, and must be a finite number (at most {FARTHEST:g})"
        elif len(metrics) == MOST_METRICS:
            why = f"at most {MOST_METRICS} are kept"
        else:
            metrics[name] = number
            continue
        notes.append(f"the metric '{one_line(name, 60)}' was left out: {why}")
    return metrics


def _entries(given: object, key: str, notes: list[str]) -> Iterable[tuple[str, Any]]:
    """The entries of an object; nothing, with a note, for any other value."""
    if isinstance(given, dict):
        return given.items()
    notes.append(f"`{key}` was left out: it is {_describe(given)}, not an object")
    return ()


def _artifacts(given: object, notes: list[str], without_paths: Callable[[str], str]) -> dict[str, str]:
    artifacts: dict[str, str] = {}
    room = MOST_FEEDBACK
    for name, value in _entries(given, "artifacts", notes):
        shown = one_line(name, 60)
        if not isinstance(value, str):
            notes.append(f"the artifact {shown!r} was left out: it is {_describe(value)}, and must be a text")
        elif len(artifacts) == MOST_ARTIFACTS or not room:
            notes.append(f"the artifact {shown!r} was left out: there are too many, or they are too long together")
        elif value.strip():
            limit = min(room, MOST_ARTIFACT)
            artifacts[shown] = _kept(value, limit, without_paths)
            room -= min(limit, len(value))
    return artifacts


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value (not nested deeply) with every text changed, keys excepted."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _each_text(item, change) for key, item in value.items()}
    return [_each_text(item, change) for item in value] if isinstance(value, list) else value


def _private(value: Any) -> Any:
    size = len(json.dumps(value))
    return (
        value if size <= MOST_PRIVATE else {"left out": f"{size} characters of JSON; at most {MOST_PRIVATE} are kept"}
    )


def _describe(value: object, there: bool = True) -> str:
    if not there:
        return "missing"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return f"{type(value).__name__} {one_line(repr(value)[:200], 60)}"
