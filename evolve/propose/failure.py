"""How one HTTP attempt failed, and what a person can do about it."""

from collections.abc import Mapping
from dataclasses import dataclass

from evolve.completion import Adaptation, FailureReason
from evolve.propose.said import Said

ADVICE: Mapping[FailureReason, str] = {
    "rate_limited": "lower `parallel`, or wait and resume",
    "quota": "the account has no credit left; add some, or use another model",
    "server_error": "the server is in trouble; resume later",
    "timeout": "raise the model's timeout_s, lower its max_tokens, or use a faster one",
    "connection": "check base_url and that the server runs and is reachable from here",
    "bad_response": "check that base_url points at an OpenAI-compatible server (it usually ends in /v1)",
    "not_found": "check the model's name and base_url (which usually ends in /v1)",
    "bad_request": "the server refuses such requests; check the model's settings",
    "cancelled": "the run is ending",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How one HTTP attempt failed. `billed_out` is an estimate of what was generated for nothing, None if nothing
    can have been billed; `said` is what the server said, where it did, and `adapted` what follows from it anew.
    `again`: the request is to be sent at once as it is now."""

    reason: FailureReason
    message: str
    http_status: int | None = None
    retry_after_s: float | None = None
    billed_out: int | None = None
    retry: bool = False
    said: Said | None = None
    adapted: tuple[Adaptation, ...] = ()
    again: bool = False


def redirected(status: int, place: str) -> Failure:
    """The failure of a request that a server wants sent to another `place` (one printable line)."""
    message = f"HTTP {status}: the server redirects to {place!r}, and no redirect is followed"
    return Failure(reason="not_found", message=message, http_status=status)
