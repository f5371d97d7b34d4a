"""When to ask a server again, and how long to wait first. Pure."""

import math
import random
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from evolve.completion import FailureReason

_WORTH_RETRYING: frozenset[FailureReason] = frozenset(
    {"rate_limited", "server_error", "timeout", "connection", "bad_response"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """At most `tries` HTTP attempts; waits double from `first_wait_s` up to `longest_wait_s`, which caps
    Retry-After too."""

    tries: int = 5
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0

    def wait_s(self, call: int, *, retry_after_s: float | None, rng: random.Random) -> float:
        """Seconds between attempt `call` (from 0) and the next: what the server asked for, else doubling with
        jitter (half to all of it), so that requests that failed together do not come back together."""
        if retry_after_s is not None:
            return min(self.longest_wait_s, retry_after_s)
        full = min(self.longest_wait_s, self.first_wait_s * 2.0 ** min(call, 30))
        return full * (0.5 + rng.random() / 2)


def worth_retrying(reason: FailureReason) -> bool:
    """Whether the same request may succeed later."""
    return reason in _WORTH_RETRYING


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
    if status == 429:
        return "quota" if code == "insufficient_quota" else "rate_limited"
    if status in (401, 403):
        return "auth"
    if status == 404:
        return "not_found"
    if status == 408:
        return "timeout"
    if status == 409 or status >= 500:
        return "server_error"
    return "bad_request"
