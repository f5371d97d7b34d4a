"""What passes between the run and a language model: messages in, one completion out, every HTTP attempt an event."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, get_args

from evaluator.untrusted import cut
from evolve.errors import EvolveError
from evolve.usage import NOTHING, Usage

FinishReason = Literal[
    "stop",  # the model ended its answer
    "length",  # cut off at the token limit
    "refusal",  # the model declined, in the field that the protocol has for it
    "content_filter",  # the server withheld or cut the answer
    "empty",  # an answer without a visible character
    "oversize",  # more text than ANSWER_LIMIT; cut there
    "nothing",  # the offline proposer has nothing to propose
    "no_gain",  # a search over the numbers of a program found nothing better
    "unknown",  # the server said nothing that we know; the text is taken as it is
]
"""How an answer ended. The text of anything but `stop` and `unknown` is not a usable answer."""

FailureReason = Literal[
    "rate_limited",  # 429
    "quota",  # 429 that waiting does not mend: no credit left
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


class Followed(StrEnum):
    """What an answer says of the recommendation that it was given."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"
    ALREADY_THERE = "already there"


FINISH_REASONS: frozenset[str] = frozenset(get_args(FinishReason))
FAILURE_REASONS: frozenset[str] = frozenset(get_args(FailureReason))

ANSWER_LIMIT = 1024 * 1024
"""Characters of an answer that are kept. A program is at most 64 KiB, so no useful answer comes near it."""

_PROSE_LIMIT = 24_000  # characters that are read of an answer in prose
_WRAPPED = re.compile(r"\s*```[a-zA-Z]*\n(.*?)\n?```\s*", re.DOTALL)

USUAL_TOKENS_OUT = 2000
"""What an answer is taken to have cost when nobody can say: about a patch with its reasons."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What was answered, and what this one HTTP call took (the failed ones before it are events only).

    `reasoning` is what the model thought on the way, where the server tells; it is kept for people, and never part of
    the answer. `tuning` counts what a search over numbers took, where that gave the answer and no model did: its
    `evaluations`, the `numbers` searched, those `dropped` since they change nothing, and those `changed`.
    """

    text: str
    finish_reason: FinishReason = "stop"
    usage: Usage = NOTHING
    reasoning: str = ""
    tuning: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEvent:
    """One HTTP attempt, before (`calling`) and after it (`failed` or `answered`).

    `call` counts the attempts of one `complete` from 0, `model` is its id at the endpoint.
    `status` is `calling`, a FailureReason or a FinishReason.
    `usage` of `calling` is the estimate that is lost if the process dies before the end is written; of
    `failed` it is what may have been billed: zero for a refused request, an estimate when the answer was lost.
    """

    call: int
    phase: Literal["calling", "failed", "answered"]
    status: str
    model: str = ""
    http_status: int | None = None
    usage: Usage = NOTHING
    message: str = ""


class CallFailed(EvolveError):
    """Raised after the last retry. `reason` is a FailureReason; the message says what to do about it."""

    exit_code = 1

    def __init__(self, reason: FailureReason, message: str) -> None:
        super().__init__(message)
        self.reason: FailureReason = reason


Observer = Callable[[CallEvent], None]
"""Told of every event. `calling` must be durable when it returns: the request is sent after that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """One model of the configuration. Prices are USD per million tokens, None where unknown.

    `base_url` None is OpenAI's own. `api_key_env` names the environment variable that holds the key; None sends
    none (a local server). `temperature` and `max_tokens` are sent only when set. `timeout_s` is the deadline of
    one HTTP attempt, from connecting to the last byte.
    """

    name: str
    model: str
    base_url: str | None = None
    api_key_env: str | None = "OPENAI_API_KEY"
    temperature: float | None = None
    max_tokens: int | None = None
    timeout_s: float = 300.0
    price_in: float | None = None
    price_out: float | None = None

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """USD for these tokens; None when the price of some of them is not known."""
        if (tokens_in and self.price_in is None) or (tokens_out and self.price_out is None):
            return None
        return (tokens_in * (self.price_in or 0.0) + tokens_out * (self.price_out or 0.0)) / 1_000_000

    def usual_tokens_out(self) -> int:
        """The output that an answer is taken to have had when nobody can say."""
        return USUAL_TOKENS_OUT if self.max_tokens is None else min(USUAL_TOKENS_OUT, self.max_tokens)


def estimate_tokens(text: str) -> int:
    """About how many tokens `text` is: a quarter of its characters, rounded up."""
    return math.ceil(len(text) / 4)


def patch_key(generation: int, attempt: int) -> str:
    """The key of the request for a patch."""
    return f"patch/{generation}/{attempt}"


def meta_key(name: str, step: str) -> str:
    """The key of one step (`summary/17`, `scratchpad`, ...) of a round of the meta-summarizer (`1`, `2`, ..., and
    `3_closing_30` of the one that closes a session after 30 programs, in the place of the third)."""
    return f"meta/{name}/{step}"


class UnusableAnswer(ValueError):
    """Raised when an answer is cut off, refused, empty, or lacks a part."""


def text_of(completion: Completion) -> str:
    """The text of a whole answer in prose, out of a fence around all of it. Raises UnusableAnswer for another end."""
    if completion.finish_reason not in ("stop", "unknown"):
        raise UnusableAnswer(f"the answer ended with {completion.finish_reason}")
    text = completion.text.replace("\r\n", "\n")
    wrapped = _WRAPPED.fullmatch(text)
    if wrapped is not None and "```" not in wrapped[1]:
        text = wrapped[1]
    if not text.strip():
        raise UnusableAnswer("the answer is empty")
    return cut(text, _PROSE_LIMIT)
