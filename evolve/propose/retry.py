"""How an HTTP attempt failed, what a person can do about it, and when to ask the server again."""

import math
import random
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from evolve.core.completion import Adaptation, FailureReason
from evolve.propose.adapting import ErrorBody

ADVICE: Mapping[FailureReason, str] = {
    "auth": "check the key in the environment variable {variable}",
    "rate_limited": "lower `parallel`, or wait and resume",
    "quota": "the account has no credit left; add some, or use another model",
    "server_error": "the server is in trouble; resume later",
    "timeout": "raise the model's timeout_s, lower its max_tokens, or use a faster one",
    "connection": "check base_url and that the server runs and is reachable from here",
    "bad_response": "check that base_url points at an OpenAI-compatible server (it usually ends in /v1)",
    "not_found": "check the model's name and base_url (which usually ends in /v1)",
    "bad_request": "set what the server asks for: `api: responses`, `stream: true`, or fields in `extra_body`",
    "cancelled": "the run is ending",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How one HTTP attempt failed. `billed`: something may have been generated, and be charged, for nothing.
    `error_body` is the server's answer, `adapted` what newly follows from it. `again`: the request is to be sent again
    at once."""

    reason: FailureReason
    message: str
    http_status: int | None = None
    retry_after_s: float | None = None
    billed: bool = False
    error_body: ErrorBody | None = None
    adapted: tuple[Adaptation, ...] = ()
    again: bool = False


PASSING = ("rate_limited", "server_error", "timeout", "connection", "bad_response")
"""The failures after which the same request may succeed later."""
_REASONS: Mapping[int, FailureReason]
_REASONS = {401: "auth", 403: "auth", 404: "not_found", 408: "timeout", 409: "server_error", 429: "rate_limited"}
_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")
_UNITS_S = (86400.0, 3600.0, 60.0, 1.0, 0.001)
_A_MOMENT_S, _A_MOMENT_MS = 1e9, 1e12  # a number that is larger is no duration: seconds, or milliseconds, since 1970


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """At most `tries` HTTP attempts that fail for another reason than a rate limit. Waits double from `first_wait_s`
    up to `longest_wait_s`, which caps what a server in trouble asks for, too.

    A server that only says "slow down" (429) costs no try: the request waits and goes again, until `patience_s` after
    it was first refused, or at once not at all when the server wants to be left alone for longer than that.
    """

    tries: int = 5
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    patience_s: float = 900.0

    def wait_s(self, failed: int, *, retry_after_s: float | None, rng: random.Random) -> float:
        """Seconds until the next attempt after `failed` others before this one: what the server asked for, else
        doubling with jitter (half to all of it), so that requests that failed together do not come back together."""
        if retry_after_s is not None:
            return min(self.longest_wait_s, retry_after_s)
        full = min(self.longest_wait_s, self.first_wait_s * 2.0 ** min(failed, 30))
        return full * (0.5 + rng.random() / 2)


class Tries:
    """The attempts of one request: how many have failed, and since when the server wants it slower."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy, self._failed, self._slowed, self._until = policy, 0, 0, math.inf

    def again_after_s(self, failure: Failure, rng: random.Random) -> float | None:
        """Seconds until the next attempt at the earliest, None when there is none."""
        stated = failure.retry_after_s
        if failure.reason != "rate_limited":
            self._failed += 1
            again = failure.reason in PASSING and self._failed < self._policy.tries
            return self._policy.wait_s(self._failed - 1, retry_after_s=stated, rng=rng) if again else None
        now = time.monotonic()
        self._until = min(self._until, now + self._policy.patience_s)
        wait = self._policy.wait_s(self._slowed, retry_after_s=None, rng=rng) if stated is None else stated
        self._slowed += 1
        return wait if now + wait <= self._until else None

    def taken(self, failure: Failure) -> tuple[int, int] | None:
        """Which try failed last, of how many; None for a failure that costs none."""
        return None if failure.reason == "rate_limited" or failure.again else (self._failed, self._policy.tries)


def stated_wait(headers: Mapping[str, str], *, now: float, refused: bool, tokens: int | None = None) -> float | None:
    """How many seconds a server wants to be left alone, from the headers of its answer (names in lower case); `now` is
    Unix time. None where it does not say.

    `retry-after-ms`, then `retry-after`, of a request that was `refused`; else, of what nothing remains of (requests or
    tokens, `x-ratelimit-remaining-*` 0), the time until there is enough for one more request of `tokens` tokens.
    `x-ratelimit-reset-*` says when all of it is there again, so it is the share of that time which is needed of all
    (`x-ratelimit-limit-*`), or the whole of it where the limit, or how many tokens are needed, is not known.
    """

    def number(name: str) -> float | None:
        return retry_after(headers.get(name), now=now)

    milliseconds = number("retry-after-ms")
    stated = number("retry-after") if milliseconds is None else milliseconds / 1000
    if refused and stated is not None:
        return stated
    waits = []
    for kind, need in (("-requests", 1), ("-tokens", tokens), ("", None)):
        reset = duration(headers.get(f"x-ratelimit-reset{kind}"), now=now)
        remaining, limit = number(f"x-ratelimit-remaining{kind}"), number(f"x-ratelimit-limit{kind}")
        if reset is not None and remaining is not None and remaining < 1:
            waits.append(reset if need is None or not limit else reset * min(1.0, need / limit))
    return max(waits, default=None)


def duration(text: str | None, *, now: float) -> float | None:
    """The seconds that a text such as `6m0s`, `20ms`, `2m59.56s` or `1.5` says, or until the moment that it names: a
    date, or seconds or milliseconds since 1970. None for an absent, malformed or negative one."""
    if text and (parts := _DURATION.fullmatch(text.strip().lower())) and any(parts.groups()):
        return sum(float(part) * unit for part, unit in zip(parts.groups(), _UNITS_S, strict=True) if part)
    seconds = retry_after(text, now=now)
    if seconds is None or seconds < _A_MOMENT_S:
        return seconds
    return max(0.0, (seconds / 1000 if seconds >= _A_MOMENT_MS else seconds) - now)


def retry_after(header: str | None, *, now: float) -> float | None:
    """The seconds that a Retry-After header asks for: a number, or an HTTP date compared with `now` (Unix time).

    None for an absent, malformed or negative one.
    """
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = max(0.0, parsedate_to_datetime(header).timestamp() - now)
        except (ValueError, OverflowError):
            return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def reason_of_status(status: int, code: str | None) -> FailureReason:
    """What an HTTP status (and the server's error code) means for us."""
    if status == 429 and code == "insufficient_quota":
        return "quota"
    return _REASONS.get(status, "server_error" if status >= 500 else "bad_request")
