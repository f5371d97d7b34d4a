"""Values between a run and a language model: messages in, one completion out, every HTTP attempt an event."""

import math
import re
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, Literal, get_args

from evaluator.untrusted import cut
from evolve.core.errors import EvolveError
from evolve.core.usage import NOTHING, Usage

FinishReason = Literal[
    "stop",  # the model ended its answer
    "length",  # cut off at the token limit
    "refusal",  # the model declined, in the field that the protocol has for it
    "content_filter",  # the server withheld or cut the answer
    "empty",  # an answer without a visible character
    "oversize",  # more text than ANSWER_LIMIT; cut there
    "nothing",  # the offline proposer has nothing to propose
    "no_gain",  # a search over the numbers of a program found nothing better
    "unknown",  # the server stated no known reason; the text is used as it is
]
"""How an answer ended. Only `stop` and `unknown` leave a usable answer."""

FailureReason = Literal[
    "rate_limited",  # 429
    "quota",  # 429 that waiting does not solve: no credit left
    "server_error",  # 5xx, 409
    "timeout",  # no whole answer before the deadline, or 408
    "connection",  # refused, reset, unresolved, broken off
    "bad_response",  # 200, but no JSON, or JSON without choices
    "auth",  # 401, 403
    "not_found",  # 404: the model or the URL is wrong
    "bad_request",  # any other 4xx
    "cancelled",  # the run is ending
    "budget",  # the run may not spend more
    "script_ended",  # the scripted LLM has no answer for the request
]
"""Why a call failed. Each is a status of its own in the record."""


class CallPhase(StrEnum):
    """The phase of an HTTP attempt."""

    WAITING = "waiting"  # held back: its endpoint takes no more for now
    CALLING = "calling"  # about to be sent
    FAILED = "failed"
    ANSWERED = "answered"


class Followed(StrEnum):
    """Whether an answer followed the recommendation in its prompt, by its own words."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"
    ALREADY_THERE = "already there"


FINISH_REASONS: frozenset[str] = frozenset(get_args(FinishReason))
FAILURE_REASONS: frozenset[str] = frozenset(get_args(FailureReason))

ANSWER_LIMIT = 1024 * 1024
"""Characters of an answer that are kept. A program is at most 64 KiB, so no useful answer comes near it."""

PROSE_LIMIT = 64 * 1024
"""Characters of an answer in prose that are read. It is cut first, and its lines to LINE_LIMIT."""
LINE_LIMIT = 2000
"""Characters of a line in prose that are read."""
_WRAPPED = re.compile(r"\s*+```[a-zA-Z]*+\n((?:[^`]++|`(?!``))*+)```\s*+")

USUAL_TOKENS_OUT = 2000
"""The expected longest answer while too few are known: about a patch with its reasons."""
ENOUGH_ANSWERS = 20
"""From this many answers on, the longest but one in twenty of the last 200 is expected."""


@dataclass(frozen=True, slots=True)
class PatchKey:
    """The request for a patch. As text: `patch/12/0`."""

    generation: int
    attempt: int

    def __str__(self) -> str:
        return f"patch/{self.generation}/{self.attempt}"


class MetaStep(StrEnum):
    """The kinds of question in a round of the meta-summarizer."""

    SUMMARIES = "summaries"  # of the new programs, one after the other
    INSIGHTS = "insights"  # the scratchpad and the recommendations


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaQuestion:
    """One question of a round. Summaries of more programs than fit into a prompt are asked for in parts (1, 2, ...); a
    question is asked again (`attempt` 1) if the first answer is unusable. As text: `summaries/1/0`."""

    step: MetaStep
    part: int = 1
    attempt: int = 0

    def __str__(self) -> str:
        return f"{self.step}/{self.part}/{self.attempt}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaKey:
    """The request for one question of round `round` of the meta-summarizer (1, 2, ...). `closing`: in the place of that
    round, one closes a session with this number of programs. As text: `meta/3/summaries/1/0`,
    `meta/3_closing_30/insights/1/0`."""

    round: int
    closing: int | None = None
    question: MetaQuestion

    def __str__(self) -> str:
        closing = "" if self.closing is None else f"_closing_{self.closing}"
        return f"meta/{self.round}{closing}/{self.question}"


RequestKey = PatchKey | MetaKey
"""The request that a call is for. Its text is in the journal."""

_COUNT: Final = "(?:0|[1-9][0-9]{0,8})"
REQUEST_KEY: Final = (
    rf"patch/(?P<generation>{_COUNT})/(?P<attempt>{_COUNT})|meta/(?P<round>{_COUNT})(?:_closing_(?P<closing>{_COUNT}))?"
    rf"/(?P<step>summaries|insights)/(?P<part>{_COUNT})/(?P<again>{_COUNT})"
)
"""The pattern of a key's text."""


def request_key(text: str) -> RequestKey:
    """The inverse of `str`. Raises ValueError for any other text."""
    match = re.fullmatch(REQUEST_KEY, text)
    if match is None:
        raise ValueError(f"{text!r:.60} is not the key of a request")
    if match["generation"]:
        return PatchKey(int(match["generation"]), int(match["attempt"]))
    closing = match["closing"]
    question = MetaQuestion(step=MetaStep(match["step"]), part=int(match["part"]), attempt=int(match["again"]))
    return MetaKey(round=int(match["round"]), closing=None if closing is None else int(closing), question=question)


def meta_key(text: str) -> MetaKey:
    """The key of a request of the meta-summarizer, from its text. Raises ValueError."""
    key = request_key(text)
    if isinstance(key, PatchKey):
        raise ValueError(f"{text} is the key of a patch")  # noqa: TRY004 - of a text that was read
    return key


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """An answer, with the usage of its HTTP call (failed calls before it are events only).

    `reasoning` is the model's thinking, if the server sends it; it is kept for people, and never part of the answer.
    `tuning` holds the counts of a search over numbers that gave the answer in place of a model: its `evaluations`, the
    `numbers` searched, those `dropped` since they change nothing, and those `changed`.
    """

    text: str
    finish_reason: FinishReason = "stop"
    usage: Usage = NOTHING
    reasoning: str = ""
    tuning: Mapping[str, int] | None = None


AdaptationValue = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptation:
    """A change in the requests to a model from now on, since its endpoint refused a parameter.

    `model` is the model's name in the configuration, `parameter` was refused: a field of the request, `api` or
    `stream`. `value` is the one value that was refused, None for any. `change`: the parameter is `dropped`, `renamed`
    to the field `to`, or `replaced` by the value `to`.
    """

    model: str
    parameter: str
    change: Literal["dropped", "renamed", "replaced"]
    value: AdaptationValue = None
    to: AdaptationValue = None

    def __str__(self) -> str:
        refused = self.parameter if self.value is None else f"{self.parameter} {_plain(self.value)}"
        if self.change == "dropped":
            return f"{refused} dropped"
        return f"{refused} {self.change} {'by' if self.change == 'replaced' else 'to'} {_plain(self.to)}"


def _plain(value: AdaptationValue) -> str:
    """A value as in a request."""
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEvent:
    """One HTTP attempt, before (`calling`) and after it (`failed` or `answered`). While it is held back at a rate limit
    (`waiting`), its observer gets an event again and again, and may end the wait.

    `call` counts the attempts of one `complete` from 0, `model` is its id at the endpoint, `message` the server's.
    `status` is `waiting`, `calling`, a FailureReason or a FinishReason. `sampled` (of `calling`) holds the values drawn
    for this request from settings that are lists; `adapted` (of `failed`) the changes to later requests. `usage` of
    `calling` is the estimate that is charged if the process dies before the end is recorded; of `failed` it is what may
    have been billed: zero for a refused request, an estimate when the answer was lost. `limit_s` (of `calling`): the
    time limit in seconds. `again_in_s` (of `waiting` and `failed`): the seconds until the next attempt, None without
    one. `tries` (of `failed`): which try failed, of how many; None if it does not count, as at a rate limit.
    """

    call: int
    phase: CallPhase
    status: str
    model: str = ""
    http_status: int | None = None
    usage: Usage = NOTHING
    message: str = ""
    sampled: Mapping[str, float | str] = field(default_factory=dict)
    adapted: Sequence[Adaptation] = ()
    limit_s: float | None = None
    again_in_s: float | None = None
    tries: tuple[int, int] | None = None


class CallFailed(EvolveError):
    """Raised after the last retry. `reason` is a FailureReason; the message says what to do about it."""

    exit_code = 1

    def __init__(self, reason: FailureReason, message: str) -> None:
        super().__init__(message)
        self.reason: FailureReason = reason


Observer = Callable[[CallEvent], None]
"""Receives every event. `calling` must be durable when it returns: the request is sent after that."""


class OutputLengthEstimator:
    """Estimates how long an answer of one model may be: its `limit` if it has one, else by its answers so far.
    Thread-safe."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._last: deque[int] = deque(maxlen=200)

    def note(self, tokens_out: int) -> None:
        """Add the length of one more answer."""
        with self._lock:
            self._last.append(tokens_out)

    def tokens(self) -> int:
        """The expected output: the 95th percentile (nearest rank) of the answers, once there are enough."""
        if self._limit is not None:
            return self._limit
        with self._lock:
            lengths = sorted(self._last)
        return USUAL_TOKENS_OUT if len(lengths) < ENOUGH_ANSWERS else lengths[math.ceil(0.95 * len(lengths)) - 1]


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` is: a quarter of its characters, rounded up."""
    return math.ceil(len(text) / 4)


class UnusableAnswer(ValueError):
    """Raised when an answer is cut off, refused, empty, or lacks a part."""


def text_of(completion: Completion) -> str:
    """The text of a whole answer in prose, without a fence around all of it. Raises UnusableAnswer for another end."""
    if completion.finish_reason not in ("stop", "unknown"):
        raise UnusableAnswer(f"the answer ended with {completion.finish_reason}")
    lines = completion.text[:PROSE_LIMIT].replace("\r\n", "\n").split("\n")
    text = "\n".join(cut(line, LINE_LIMIT) for line in lines)
    if len(completion.text) > PROSE_LIMIT:
        text += f" [... {len(completion.text) - PROSE_LIMIT} characters cut]"
    wrapped = _WRAPPED.fullmatch(text)
    if wrapped is not None:
        text = wrapped[1].removesuffix("\n")
    if not text.strip():
        raise UnusableAnswer("the answer is empty")
    return text
