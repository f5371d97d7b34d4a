"""Reads an endpoint's refusal, in any shape, and changes the parameters of requests accordingly. Pure.

OpenAI says {"error": {"message", "param", "code"}}, Mistral a list of pydantic's details, Gemini a list of such errors,
a gateway the JSON of the server behind it as text within its own.

A request is looked at as its parameters: the fields that a person may have set, under the names of chat completions,
and two that are no field there: `api` (`chat` or `responses`) and `stream`. Servers word a refusal differently; the
patterns here match the words of real ones. Only parameters that were sent are changed, at most MOST times.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from evaluator.untrusted import one_line
from evolve.core.completion import Adaptation, AdaptationValue

Parameters = Mapping[str, Any]

MOST = 24
"""Adaptations of one model. Endpoints need four or five; an endless series of refusals is no endpoint."""

MOST_TEXT = 6000  # characters that are read

LIMITS = ("max_tokens", "max_completion_tokens")
"""What the longest answer is called; an endpoint knows one of them or both."""

_DEEP = 8
_TELLING = ("", "message", "detail", "msg", "error", "description", "reason", "metadata", "raw", "details", "title")
_STATUS = re.compile("[45][0-9]{2}")
_SENTENCE_END = re.compile(r"[.;!?]\s+|\n+")
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_ANY_SETTING = 1e12  # no setting is larger, and the record holds none that is
_LEAST_ROOM = 64  # tokens of an answer; with less left, the prompt is what does not fit
_REFUSING = frozenset({200, 400, 404, 405, 406, 415, 416, 422, 501})
_ALSO_CALLED: Mapping[str, Sequence[str]] = {
    "reasoning_effort": ("reasoning.effort", "effort", "reasoning", "thinking", "think")
} | dict.fromkeys(LIMITS, ("max_output_tokens",))

_NOT = r"(?:not|n't|un)[ -]?(?:\w{1,30} )?(?:support|permit|allow|accept|recogni|known|expect)"
_NOT_KNOWN = re.compile(_NOT + "|extra |forbidden", re.IGNORECASE)
_TOO_LARGE = re.compile(r"too (?:large|high|big|long)|exceed|maximum|at most|less than", re.IGNORECASE)
_REFUSED = re.compile(
    rf"{_NOT}|{_TOO_LARGE.pattern}|(?:not|n't) (?:\w{{1,30}} )?(?:available|enabled|valid|implement)|invalid|"
    r"deprecated|no longer|incompatible|cannot|can't|could not|must (?:be|not)|should be|extra (?:inputs|fields)|"
    r"forbidden|only (?:the default|allowed|supports?)|range|disallow|drop_params",
    re.IGNORECASE,
)
_NOT_BOTH = re.compile(r"(?:can ?not|n't|not) both|both [^.]{0,200}specified|mutually exclusive", re.IGNORECASE)
_OFFERS = re.compile(r"values?\b|\buse\b|one of|should be|must be", re.IGNORECASE)
_BOUND = re.compile(
    r"(?:less than or equal to|<=|at most|up to|maximum(?: \w+){0,4} (?:of|is)) ?\W?(\d+(?:\.\d+)?)|"
    r"> ?(\d+), which is the maximum|(?:between|from|range:?|\[) ?\d+(?:\.\d+)? ?(?:and|to|\.\.|,|-) ?(\d+(?:\.\d+)?)",
    re.IGNORECASE,
)
_CONTEXT = re.compile(r"(?:context (?:length|window|size)(?: is| of)?|n_ctx\W)\D{0,12}(\d{3,9})", re.IGNORECASE)
_ASKED_IN = re.compile(
    r"(?<!\d)(\d{1,9}+) (?:tokens )?(?:(?:in|for|from) (?:the|your) (?:messages|prompt|input)|(?:input|prompt) tokens|"
    r"of text input)|(?:has|contains|resulted in|n_prompt_tokens) (\d{1,9}+)(?: (?:input )?tokens|$)",
    re.IGNORECASE | re.MULTILINE,
)
_RESPONSES = re.compile(
    r"(?:only|use|supported|available|with|in)\b[^.]{0,40}(?:v1/responses|the responses api)|"
    r"chatcompletion operation does not work",
    re.IGNORECASE,
)
_WANTS_STREAM = re.compile(
    r"stream\W{1,3}(?:must|needs to|has to|should) be (?:set to )?\W?true|"
    r"(?:only supports?(?: the)?|requires?|enable) stream|streaming is required|for non-?streaming calls|"
    rf"non-?stream[^.]{{0,200}}{_NOT}|{_NOT}[^.]{{0,200}}(?:non-?stream|stream\W{{1,3}}false)",
    re.IGNORECASE,
)
_NO_STREAM = re.compile(
    rf"\bstream(?:ing)?\b[^.]{{0,200}}(?:{_NOT}|not available|must be (?:set to )?\W?false)|"
    rf"{_NOT}[^.]{{0,50}}\bstream(?:ing|ed)?\b",
    re.IGNORECASE,
)

_FORMS: Sequence[tuple[str, str | bool, re.Pattern[str], str | bool]] = (
    ("api", "chat", _RESPONSES, "responses"),
    ("stream", False, _WANTS_STREAM, True),
    ("stream", True, _NO_STREAM, False),
)
"""What is no field: the parameter, its value as it was sent, what is said of it, and the value that takes its place."""

_Change = tuple[str, str, AdaptationValue, AdaptationValue]  # parameter, change, value, to


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBody:
    """`text` is all of the words, and llama.cpp's numbers; `places` the fields that they point at (`temperature`,
    `reasoning.effort`); `code` and `status` what the body states as such."""

    text: str = ""
    places: frozenset[str] = frozenset()
    code: str | None = None
    status: int | None = None

    @property
    def sentences(self) -> list[str]:
        """The words, sentence by sentence."""
        return [part for part in _SENTENCE_END.split(self.text) if part]

    @property
    def line(self) -> str:
        """The words as one printable line."""
        return one_line(self.text.replace("\n", " "), 300)


def parse_error_body(body: object) -> ErrorBody:
    """What the body of an error says: JSON of any shape, or a text."""
    texts, places, codes = dict[str, None](), set[str](), list[str | int]()
    for key, value in _leaves(body):
        if key in ("loc", "param", "field") and isinstance(value, str) and value:
            places.add(value)
        elif key == "code" and isinstance(value, str | int):
            codes.append(value)
        elif isinstance(value, str) and key in _TELLING and value.strip()[:1] != "<":
            texts[value] = None
        elif type(value) is int and key in ("n_ctx", "n_prompt_tokens"):
            texts[f"{key} {value}"] = None
    return ErrorBody(
        text="\n".join(texts)[:MOST_TEXT],
        places=frozenset(places),
        code=next((code for code in codes if isinstance(code, str)), None),
        status=next((int(code) for code in map(str, codes) if _STATUS.fullmatch(code)), None),
    )


def _leaves(value: Any, key: str = "", depth: int = 0) -> Iterator[tuple[str, object]]:
    """Every single value with the name of its field; a text that is JSON is gone into, and what was sent (`input`) is
    left out."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    items: Iterable[tuple[str, Any]] | None = value.items() if isinstance(value, dict) else None
    if isinstance(value, list):
        items = ((key, item) for item in value)
    if items is None:
        yield key, value
    elif depth < _DEEP:
        for name, item in items:
            if name != "input":
                yield from _leaves(item, name, depth + 1)


def adapted(parameters: Parameters, known: Iterable[Adaptation]) -> dict[str, Any]:
    """The parameters as they are sent: those that are wanted, with every known adaptation in its order."""
    sent = dict(parameters)
    for change in known:
        if change.parameter not in sent or (change.value is not None and sent[change.parameter] != change.value):
            continue
        before = sent.pop(change.parameter)
        if change.change == "replaced":
            sent[change.parameter] = change.to
        elif change.change == "renamed":
            sent[str(change.to)] = before
    streams = sent.get("stream") is True and sent["api"] == "chat"
    if streams and not any(change.parameter == "stream_options" for change in known):
        sent.setdefault("stream_options", {"include_usage": True})
    return sent


def understood(
    error: ErrorBody, status: int, *, sent: Parameters, known: Sequence[Adaptation], model: str
) -> tuple[Adaptation, ...]:
    """What to ask otherwise of a model after what its endpoint said with an HTTP status; empty where it refused none of
    the parameters that were `sent`, or where it has refused too much already.

    `known` are the adaptations so far. What was sent may be older than those; so one that is known may be found again.
    """
    changes = _understood(error, status, sent, known)
    whole = tuple(
        Adaptation(model=model, parameter=parameter, change=change, value=value, to=to)  # type: ignore[arg-type]
        for parameter, change, value, to in changes
    )
    return whole if len({*known, *whole}) <= MOST else ()


def _understood(error: ErrorBody, status: int, sent: Parameters, known: Sequence[Adaptation]) -> list[_Change]:
    def form(name: str) -> list[_Change]:
        rows = [row for row in _FORMS if row[0] == name and row[1] == sent.get(name) and row[2].search(error.text)]
        return [(name, "replaced", value, to) for _, value, _, to in rows]

    if status not in _REFUSING:
        return []
    if api := form("api"):
        return api
    blamed = [name for name in sent if name not in ("api", "stream") and _is_blamed(name, error, sent)]
    if len(blamed) > 1 and _NOT_BOTH.search(error.text):
        blamed = blamed[1:]
    context, prompt = context_length(error), _first(_ASKED_IN, error.text)
    if context is not None and prompt is not None and not set(blamed) - set(LIMITS):
        return _shorter(context - prompt, sent)
    changes = [_change(name, error, sent, known) for name in blamed]
    return [change for change in changes if change is not None] if blamed else form("stream")


def _is_blamed(name: str, error: ErrorBody, sent: Parameters) -> bool:
    """Whether a parameter is what was refused: the server points at it, or names it in a sentence that refuses."""
    names = [name, *(alias for alias in _ALSO_CALLED.get(name, ()) if alias not in sent)]
    return any(place.rpartition(".")[2] in names for place in error.places) or any(
        _REFUSED.search(sentence) and any(_names(each, sentence) for each in names) for sentence in error.sentences
    )


def _names(name: str, sentence: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", sentence, re.IGNORECASE) is not None


def _change(name: str, error: ErrorBody, sent: Parameters, known: Sequence[Adaptation]) -> _Change | None:
    """What becomes of a parameter that was refused; None where it is only said to be too large, not by how much: a
    limit that somebody set is not given up for that."""
    value = sent[name]
    if name == "reasoning_effort":
        return _other_effort(str(value), error)
    if isinstance(value, int | float) and not isinstance(value, bool) and value < _ANY_SETTING:
        bound = _bound(error.text, value)
        if bound is not None:
            return name, "replaced", value, bound
    if name in LIMITS and _TOO_LARGE.search(error.text) and not _NOT_KNOWN.search(error.text):
        return None
    other = LIMITS[1 - LIMITS.index(name)] if name in LIMITS else None
    if other is None or sent["api"] != "chat" or any(adaptation.parameter == other for adaptation in known):
        return name, "dropped", None, None
    return name, "renamed", None, other


def _other_effort(value: str, error: ErrorBody) -> _Change:
    """The nearest effort that the server says it knows; none at all where it says nothing of others."""
    offers = " ".join(sentence for sentence in error.sentences if _OFFERS.search(sentence)).lower()
    named = _names(value, error.text)
    offered = [word for word in _EFFORTS if word != value and _names(word, offers)]
    if named and offered and value in _EFFORTS:
        place = _EFFORTS.index(value)
        thinking = [word for word in offered if word != "none"] or offered
        nearest = min(thinking, key=lambda word: abs(_EFFORTS.index(word) - place))
        return "reasoning_effort", "replaced", value, nearest
    return "reasoning_effort", "dropped", value if named else None, None


def _bound(text: str, value: float) -> AdaptationValue:
    """The largest value that the server says it takes, if what was sent is larger."""
    for match in _BOUND.finditer(text):
        bound = float(next(group for group in match.groups() if group is not None))
        if 0 < bound < value:
            return int(bound) if isinstance(value, int) else bound
    return None


def _shorter(room: int, sent: Parameters) -> list[_Change]:
    """A shorter answer, where prompt and answer together do not fit into the context and the prompt alone does."""
    name = next((name for name in LIMITS if name in sent), "")
    room = min(room, sent[name] * 3 // 4 if name else 0)  # much less at once: the next prompt may be longer
    return [(name, "replaced", sent[name], room)] if room >= _LEAST_ROOM else []


def context_length(error: ErrorBody) -> int | None:
    """The tokens of a model's context, where a refusal states them."""
    return _first(_CONTEXT, error.text)


def _first(pattern: re.Pattern[str], text: str) -> int | None:
    match = pattern.search(text)
    return None if match is None else int(next(group for group in match.groups() if group is not None))
