"""What an evaluator script says of a program: the file RESULT.json, read as strictly as a stranger's.

The program shares the script's process, so that every byte may be the program's. A JSON object is read with these keys,
and nothing else of it:

    correct         true or false; must be there
    combined_score  a finite number, larger is better; must be there when `correct`
    metrics         {"name": number}: shown, and told to whoever proposes
    feedback        a text for whoever proposes
    artifacts       {"name": "text"}: the same, such as a compiler's messages
    private         any JSON: recorded and shown, and reaches no prompt and no meta document
    answers         one per instance, null where there is none: where a judge decides, in place of the first three

NaN, infinities, numbers that no float holds and keys given twice are no JSON here, and a boolean is no number. A metric
or a text that is none is left out with a line that says so; what is wrong with the score is a ResultError.
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
"""So many characters of output may be more than is kept, if they are less than three lines."""
_METRIC: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:@/ -]{0,59}", re.ASCII)
_TAKEN: Final = frozenset({COMBINED, "success_rate", "published_score", "runtime_s"})
"""Names that mean something else already."""


class ResultError(Exception):
    """Raised for a result that is none; the message says why, for the program's author."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptResult:
    """What a script wrote, made harmless. `score` is None only of a program that is not correct; `notes` are lines on
    what was left out. `answers` is None where no judge decides."""

    correct: bool
    score: float | None
    metrics: Mapping[str, float]
    private: Any
    feedback: str
    artifacts: Mapping[str, str]
    notes: tuple[str, ...]
    answers: tuple[Any, ...] | None = None

    def told(self) -> str:
        """All that is for whoever proposes, as one text: feedback, artifacts, and what was left out."""
        parts = [self.feedback, *(f"{name}:\n{text}" for name, text in self.artifacts.items()), *self.notes]
        return "\n\n".join(part for part in parts if part)


def read_result(raw: bytes, *, answers: int | None = None, without_paths: Callable[[str], str] = str) -> ScriptResult:
    """What a result file says. `answers`: a judge decides, and there must be so many of them. `without_paths` takes the
    places of this machine out of a text. Raises ResultError."""
    document = _parsed(raw)
    notes: list[str] = []
    correct, score, given = True, None, None
    if answers is None:
        correct, score = _verdict(document)
    else:
        given = document.get("answers")
        if not isinstance(given, list) or len(given) != answers:
            what = f"{len(given)} of them" if isinstance(given, list) else _said(given, "answers" in document)
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
    """Untrusted text with its lines, in at most about `limit` characters."""
    return block(cut(text.strip("\r\n"), limit), 2 * limit)


def _kept(text: str, limit: int, without_paths: Callable[[str], str]) -> str:
    """What is kept of a script's text: made harmless, without the places of this machine. No more of it is read than
    may be needed for that, a path that would be cut apart left out."""
    text = text.strip("\r\n")
    read = text[: limit + _LONGEST_PATH]
    if len(read) < len(text):
        read = read[: max(limit, 1 + max(map(read.rfind, " \t\r\n")))]
    shown, unread = without_paths(read), len(text) - len(read)
    if unread:
        shown = f"{shown[:limit]} [... {max(0, len(shown) - limit) + unread} characters cut]"
    return harmless(shown, limit if not unread else len(shown))


def end_of(text: str, limit: int) -> str:
    """The end of untrusted output, which says why a script ended, in about `limit` characters. Fewer than three lines
    too many are not cut: a traceback without its beginning saves nothing then."""
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
        raise ResultError(f"it must be a JSON object, and is {_said(document)}")
    return document


def _verdict(document: Mapping[str, Any]) -> tuple[bool, float | None]:
    correct = document.get("correct")
    if not isinstance(correct, bool):
        raise ResultError(f"`correct` must be true or false, and is {_said(correct, 'correct' in document)}")
    if not correct:
        return False, None
    score = _number(document.get(COMBINED))
    if score is None:
        said = _said(document.get(COMBINED), COMBINED in document)
        raise ResultError(
            f"`{COMBINED}` must be a finite number (at most {FARTHEST:g}) where `correct` is true, and is {said}"
        )
    return True, score


def _number(value: object) -> float | None:
    """A number as a float; None when it is none, or too far from 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -FARTHEST <= value <= FARTHEST:
        return None
    return float(value) + 0.0  # no negative zero


def _metrics(found: object, notes: list[str]) -> dict[str, float]:
    metrics: dict[str, float] = {}
    for name, value in _entries(found, "metrics", notes):
        number = _number(value)
        if not _METRIC.fullmatch(name):
            why = "its name must be a plain one of at most 60 characters"
        elif name in _TAKEN:
            why = "the name means something else already"
        elif number is None:
            why = f"it is {_said(value)}, and must be a finite number (at most {FARTHEST:g})"
        elif len(metrics) == MOST_METRICS:
            why = f"at most {MOST_METRICS} are kept"
        else:
            metrics[name] = number
            continue
        notes.append(f"the metric {one_line(name, 60)!r} was left out: {why}")
    return metrics


def _entries(found: object, key: str, notes: list[str]) -> Iterable[tuple[str, Any]]:
    """The entries of an object; none of what is no object."""
    if isinstance(found, dict):
        return found.items()
    notes.append(f"`{key}` was left out: it is {_said(found)}, not an object")
    return ()


def _artifacts(found: object, notes: list[str], without_paths: Callable[[str], str]) -> dict[str, str]:
    artifacts: dict[str, str] = {}
    room = MOST_FEEDBACK
    for name, value in _entries(found, "artifacts", notes):
        shown = one_line(name, 60)
        if not isinstance(value, str):
            notes.append(f"the artifact {shown!r} was left out: it is {_said(value)}, and must be a text")
        elif len(artifacts) == MOST_ARTIFACTS or not room:
            notes.append(f"the artifact {shown!r} was left out: there are too many, or they are too long together")
        elif value.strip():
            limit = min(room, MOST_ARTIFACT)
            artifacts[shown] = _kept(value, limit, without_paths)
            room -= min(limit, len(value))
    return artifacts


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    """A JSON value (not nested deeply) with every text in it changed, but for keys."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _each_text(item, change) for key, item in value.items()}
    return [_each_text(item, change) for item in value] if isinstance(value, list) else value


def _private(found: Any) -> Any:
    size = len(json.dumps(found))
    if size > MOST_PRIVATE:
        return {"left out": f"{size} characters of JSON; at most {MOST_PRIVATE} are kept"}
    return found


def _said(value: object, there: bool = True) -> str:
    if not there:
        return "missing"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{type(value).__name__} {one_line(repr(value)[:200], 60)}"
