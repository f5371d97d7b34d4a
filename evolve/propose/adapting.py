"""What an endpoint says of a refusal, in whatever shape, and what is asked otherwise because of it. Pure.

OpenAI says {"error": {"message", "param", "code"}}, Mistral a list of pydantic's details, Gemini a list of such errors,
a gateway the JSON of the server behind it as text within its own.

A request is looked at as its parameters: the fields that a person may have set, under the names of chat completions,
and three that are no field there: `api` (`chat` or `responses`), `stream`, and `role`, that of instructions.
An endpoint that refuses one of them says so in words that differ from server to server; those that are understood here
were said by real ones. Whatever is said, nothing is changed but what was sent, and no more than MOST times.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluator.untrusted import one_line
from evolve.completion import Adaptation, AdaptationValue

MOST_SAID = 6000  # characters that are read
_DEEP = 8
_TELLING = ("message", "detail", "msg", "error", "description", "reason", "metadata", "raw", "details", "title")
_STATUS = re.compile("[45][0-9]{2}")
_SENTENCE_END = re.compile(r"[.;!?]\s+|\n+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """`text` is all of the words; `places` the fields that they point at (`temperature`, `reasoning.effort`); `code`
    and `status` what the body states as such; `numbers` the whole numbers beside the words (llama.cpp's `n_ctx`)."""

    text: str = ""
    places: frozenset[str] = frozenset()
    code: str | None = None
    status: int | None = None
    numbers: dict[str, int] = field(default_factory=dict)

    @property
    def sentences(self) -> list[str]:
        """The words, sentence by sentence."""
        return [part for part in _SENTENCE_END.split(self.text) if part]

    @property
    def line(self) -> str:
        """The words as one printable line."""
        return one_line(self.text.replace("\n", " "), 300)


def said_in(body: object) -> Said:
    """What the body of an error says: JSON of any shape, or a text."""
    texts: list[str] = []
    places: set[str] = set()
    numbers: dict[str, int] = {}
    codes: list[object] = []
    for key, value in _walk(body, "", 0):
        if key == "loc":
            places.add(str(value))
        elif key in ("param", "field") and isinstance(value, str) and value:
            places.add(value)
        elif key == "code" and isinstance(value, str | int):
            codes.append(value)
        elif isinstance(value, str) and key in ("", *_TELLING) and value not in texts and value.strip()[:1] != "<":
            texts.append(value)
        elif type(value) is int and key.startswith("n_"):
            numbers[key] = value
    return Said(
        text="\n".join(texts)[:MOST_SAID],
        places=frozenset(places),
        code=next((code for code in codes if isinstance(code, str)), None),
        status=next((int(code) for code in map(str, codes) if _STATUS.fullmatch(code)), None),
        numbers=numbers,
    )


def _walk(value: Any, key: str, depth: int) -> Iterator[tuple[str, object]]:
    """Every single value with the name of its field; a text that is JSON is gone into."""
    if depth > _DEEP:
        return
    if isinstance(value, str):
        inner = _json_in(value)
        if inner is None:
            yield key, value[:MOST_SAID]
        else:
            yield from _walk(inner, key, depth + 1)
    elif isinstance(value, dict):
        for name, item in list(value.items())[:100]:
            if name == "loc" and isinstance(item, list):
                for part in item:
                    if isinstance(part, str):
                        yield "loc", part
            elif name != "input":  # what was sent, which may be anything
                yield from _walk(item, str(name), depth + 1)
    elif isinstance(value, list):
        for item in value[:100]:
            yield from _walk(item, key, depth + 1)
    else:
        yield key, value


def _json_in(text: str) -> Any:
    """What a text holds that is a JSON object or list; None for any other."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


Parameters = Mapping[str, Any]

MOST = 24
"""Adaptations of one model. Endpoints need four or five; an endless series of refusals is no endpoint."""

LIMITS = ("max_tokens", "max_completion_tokens")
"""What the longest answer is called; an endpoint knows one of them or both."""

_FORMS = ("api", "stream", "role")
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_ANY_SETTING = 1e12  # no setting is larger, and the record holds none that is
_LEAST_ROOM = 64  # tokens of an answer; with less left, the prompt is what does not fit

_REFUSING = frozenset({200, 400, 404, 405, 406, 415, 416, 422, 501})
_REFUSED = re.compile(
    r"unsupported|unrecognized|unknown|unexpected|forbidden|invalid|deprecated|no longer|incompatible|"
    r"cannot|can't|could not|must (?:be|not)|should be|"
    r"(?:not|n't) (?:\w{1,30} )?(?:support|permit|allow|accept|recogni[sz]e|available|enabled|valid|implement)|"
    r"not \w*supported|extra (?:inputs|fields)|only (?:the default|allowed|supports?)|too (?:large|high|big)|"
    r"maximum|range|at most|less than|exceed|disallow|drop_params",
    re.IGNORECASE,
)
_TOO_LARGE = re.compile(r"too (?:large|high|big|long)|exceed|maximum|at most|less than", re.IGNORECASE)
_NOT_KNOWN = re.compile(
    r"(?:un|not |n't )\w{0,20}(?:support|recogni|known|expected|permit|allow)|extra |forbidden", re.IGNORECASE
)
_NOT_BOTH = re.compile(
    r"(?:cannot|can ?not|can't|must not|not) both|both [^.]{0,200}specified|mutually exclusive", re.IGNORECASE
)
_OFFERS = re.compile(r"values?\b|\buse\b|one of|should be|must be", re.IGNORECASE)
_BOUND = re.compile(
    r"less than or equal to \W?(\d+(?:\.\d+)?)|<= ?(\d+(?:\.\d+)?)|> ?(\d+), which is the maximum|"
    r"\[ ?\d+(?:\.\d+)?, ?(\d+(?:\.\d+)?) ?\]|"
    r"(?:between|from|range:?) \d+(?:\.\d+)? ?(?:and|to|\.\.|-) ?(\d+(?:\.\d+)?)|"
    r"(?:at most|up to|maximum(?: \w+){0,4} (?:of|is)) (\d+(?:\.\d+)?)",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"(?:context (?:length|window|size)(?: is| of)?|n_ctx\W+)\D{0,12}(\d{3,9})|context size \((\d{3,9})", re.IGNORECASE
)
_ASKED_IN = re.compile(
    r"(?<!\d)(\d{1,9}+) (?:tokens )?(?:in the (?:messages|prompt)|(?:in your|for the) prompt|input tokens|"
    r"tokens from the input|"
    r"in the input|of text input|prompt tokens)|(?:has|contains|resulted in) (\d{1,9}+) (?:input )?tokens",
    re.IGNORECASE,
)
_RESPONSES = re.compile(
    r"(?:only|use|supported|available|with|in)\b[^.]{0,40}v1/responses|"
    r"only (?:supported|available) (?:in|via|through) the responses api|"
    r"use the responses api|in the responses api, this parameter|chatcompletion operation does not work",
    re.IGNORECASE,
)
_NO_SYSTEM = re.compile(
    r"system (?:role|message|prompt|instruction)s?\b[^.]{0,200}(?:not|n't|un)[ -]?\w{0,20}"
    r"(?:support|allow|permit|enabled)|"
    r"(?:not|n't) (?:support|allow|accept)\w* (?:a |the )?['\"`]?system|got system\b|roles must alternate|"
    r"(?:role|input should be)[^.]{0,200}'user'(?:(?!\bsystem\b)[^.]){0,200}'assistant'|"
    r"developer instruction is not enabled|"
    r"(?:unknown|unsupported|invalid|unexpected)[^.]{0,200} role\W+system",
    re.IGNORECASE,
)
_WANTS_STREAM = re.compile(
    r"stream\W{1,3}(?:must|needs to|has to|should) be (?:set to )?\W?true|stream must be (?:set to )?\W?true|"
    r"only supports? (?:the )?stream|(?:requires?|enable) stream|"
    r"non-?stream[^.]{0,200}(?:not|un)[ -]?(?:\w{1,30} )?support|"
    r"(?:not|un)[ -]?(?:\w{1,30} )?support[^.]{0,200}(?:non-?stream|stream\W{1,3}false)|"
    r"for non-?streaming calls|streaming is required",
    re.IGNORECASE,
)
_NO_STREAM = re.compile(
    r"\bstream(?:ing)?\b[^.]{0,200}(?:(?:not|un)[ -]?(?:\w{1,30} )?(?:support|allow|available)|"
    r"must be (?:set to )?\W?false)|"
    r"(?:not|un)[ -]?(?:\w{1,30} )?support[^.]{0,50}\bstream(?:ing|ed)?\b",
    re.IGNORECASE,
)
_ALSO_CALLED: Mapping[str, Sequence[str]] = {
    "reasoning_effort": ("reasoning.effort", "effort", "reasoning", "thinking", "think")
} | dict.fromkeys(LIMITS, ("max_output_tokens",))


def adapted(parameters: Parameters, known: Iterable[Adaptation]) -> dict[str, Any]:
    """The parameters as they are sent: those that are wanted, with every known adaptation in its order."""
    found = dict(parameters)
    for one in known:
        if one.parameter not in found or (one.value is not None and found[one.parameter] != one.value):
            continue
        before = found.pop(one.parameter)
        if one.change == "replaced":
            found[one.parameter] = one.to
        elif one.change == "renamed":
            found[str(one.to)] = before
    streams = found.get("stream") is True and found["api"] == "chat"
    if streams and not any(one.parameter == "stream_options" for one in known):
        found.setdefault("stream_options", {"include_usage": True})
    return found


def understood(
    said: Said, status: int, *, sent: Parameters, known: Sequence[Adaptation], model: str
) -> tuple[Adaptation, ...]:
    """What to ask otherwise of a model after what its endpoint said with an HTTP status; empty where it refused none of
    the parameters that were `sent`, or where it has refused too much already.

    `known` are the adaptations so far. What was sent may be older than those; so one that is known may be found again.
    """
    found = _understood(said, status, sent, known)
    whole = tuple(
        Adaptation(model=model, parameter=parameter, change=change, value=value, to=to)  # type: ignore[arg-type]
        for parameter, change, value, to in found
    )
    return whole if len({*known, *whole}) <= MOST else ()


_Change = tuple[str, str, AdaptationValue, AdaptationValue]  # parameter, change, value, to


def _understood(said: Said, status: int, sent: Parameters, known: Sequence[Adaptation]) -> list[_Change]:
    if sent.get("role") == "system" and (status in _REFUSING or status == 500) and _NO_SYSTEM.search(said.text):
        return [("role", "replaced", "system", "user")]
    if status not in _REFUSING:
        return []
    if sent["api"] == "chat" and _RESPONSES.search(said.text):
        return [("api", "replaced", "chat", "responses")]
    blamed = [name for name in sent if name not in _FORMS and _is_blamed(name, said, sent)]
    if len(blamed) > 1 and _NOT_BOTH.search(said.text):
        blamed = blamed[1:]
    if _does_not_fit(said) and not set(blamed) - set(LIMITS):
        return _shorter(said, sent)
    if blamed:
        changes = (_change(name, said, sent, known) for name in blamed)
        return [change for change in changes if change is not None]
    if not sent["stream"] and _WANTS_STREAM.search(said.text):
        return [("stream", "replaced", False, True)]
    if sent["stream"] and _NO_STREAM.search(said.text):
        return [("stream", "replaced", True, False)]
    return []


def _is_blamed(name: str, said: Said, sent: Parameters) -> bool:
    """Whether a parameter is what was refused: the server points at it, or names it in a sentence that refuses."""
    others = tuple(alias for alias in _ALSO_CALLED.get(name, ()) if alias not in sent)
    if any(place.rpartition(".")[2] == each or place == each for place in said.places for each in (name, *others)):
        return True
    return any(
        _REFUSED.search(sentence) and any(_names(each, sentence) for each in (name, *others))
        for sentence in said.sentences
    )


def _names(name: str, sentence: str) -> bool:
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", sentence, re.IGNORECASE) is not None


def _change(name: str, said: Said, sent: Parameters, known: Sequence[Adaptation]) -> _Change | None:
    """What becomes of a parameter that was refused; None where it is only said to be too large, not by how much: a
    limit that somebody set is not given up for that."""
    value = sent[name]
    if name == "reasoning_effort":
        return _other_effort(str(value), said)
    if isinstance(value, int | float) and not isinstance(value, bool) and value < _ANY_SETTING:
        bound = _bound(said.text, value)
        if bound is not None:
            return name, "replaced", value, bound
    if name in LIMITS and _TOO_LARGE.search(said.text) and not _NOT_KNOWN.search(said.text):
        return None
    other = LIMITS[1 - LIMITS.index(name)] if name in LIMITS else None
    if other is None or sent["api"] != "chat" or any(one.parameter == other for one in known):
        return name, "dropped", None, None
    return name, "renamed", None, other


def _other_effort(value: str, said: Said) -> _Change:
    """The nearest effort that the server says it knows; none at all where it says nothing of others."""
    offers = " ".join(sentence for sentence in said.sentences if _OFFERS.search(sentence)).lower()
    named = _names(value, said.text)
    offered = [word for word in _EFFORTS if word != value and _names(word, offers)]
    if named and offered and value in _EFFORTS:
        place = _EFFORTS.index(value)
        thinking = [word for word in offered if word != "none"] or offered
        nearest = min(thinking, key=lambda word: abs(_EFFORTS.index(word) - place))
        return "reasoning_effort", "replaced", value, nearest
    return "reasoning_effort", "dropped", value if named else None, None


def _bound(text: str, value: float) -> AdaptationValue:
    """The largest value that the server says it takes, if what was sent is larger."""
    for found in _BOUND.finditer(text):
        bound = float(next(group for group in found.groups() if group is not None))
        if 0 < bound < value:
            return int(bound) if isinstance(value, int) else bound
    return None


def _does_not_fit(said: Said) -> bool:
    return context_length(said) is not None and _prompt_length(said) is not None


def _shorter(said: Said, sent: Parameters) -> list[_Change]:
    """A shorter answer, where prompt and answer together do not fit into the context and the prompt alone does."""
    name = next((name for name in LIMITS if name in sent), None)
    context, prompt = context_length(said), _prompt_length(said)
    if name is None or context is None or prompt is None:
        return []
    room = min(context - prompt, sent[name] * 3 // 4)  # much less at once: the next prompt may be longer
    return [(name, "replaced", sent[name], room)] if room >= _LEAST_ROOM else []


def _prompt_length(said: Said) -> int | None:
    return said.numbers.get("n_prompt_tokens") or _first(_ASKED_IN, said.text)


def context_length(said: Said) -> int | None:
    """The tokens of a model's context, where a refusal states them."""
    stated = said.numbers.get("n_ctx")
    return _first(_CONTEXT, said.text) if stated is None else stated


def _first(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    return None if found is None else int(next(group for group in found.groups() if group is not None))
