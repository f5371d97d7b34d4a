"""The HTTP attempts behind an answer, each with how it ended: answered, failed for a reason, or lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evolve.archive.records import AttemptRecord, Status

LOST = "lost"
"""The process was killed before the end of the call was written: what it cost is an estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One HTTP attempt. `status` is how an answer ended (`stop`, `length`, ...), why there was none (`timeout`, ...),
    `lost`, or `calling` while it is under way."""

    status: str
    http_status: int | None
    tokens_in: int
    tokens_out: int
    cost_usd: float
    latency_s: float
    estimated: bool
    message: str

    def to_json(self) -> dict[str, Any]:
        """The keys of one call in `evolve show --json`."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def calls_of(attempt: AttemptRecord, events: Sequence[Mapping[str, Any]]) -> list[Call]:
    """The HTTP attempts of a question from its `called` events, in order.

    A `calling` that is followed by no failure was answered if the question was, and it is the last; else it was lost,
    unless it is the last one of a question that is still open: then it has no end yet.
    """
    found: list[Call] = []
    for index, event in enumerate(events):
        if event["phase"] != "calling":
            continue
        following = events[index + 1] if index + 1 < len(events) else None
        if following is not None and following["phase"] == "failed":
            found.append(_of_event(following, following["status"]))
        elif following is None and attempt.answer is not None:
            found.append(_answered(attempt))
        else:
            open_still = following is None and attempt.status is Status.ASKED
            found.append(_of_event(event, "calling" if open_still else LOST))
    return found


def _answered(attempt: AttemptRecord) -> Call:
    return Call(
        status=attempt.finish_reason or "stop",
        http_status=None,
        tokens_in=attempt.tokens_in,
        tokens_out=attempt.tokens_out,
        cost_usd=attempt.cost_usd,
        latency_s=attempt.latency_s,
        estimated=attempt.estimated,
        message="",
    )


def _of_event(event: Mapping[str, Any], status: str) -> Call:
    return Call(
        status=status,
        http_status=event["http_status"],
        tokens_in=event["tokens_in"],
        tokens_out=event["tokens_out"],
        cost_usd=event["cost_usd"],
        latency_s=event["measured"]["latency_s"],
        estimated=event["estimated"],
        message=event["message"],
    )


def call_line(call: Call) -> str:
    """A call in one sentence."""
    http = "" if call.http_status is None else f" (HTTP {call.http_status})"
    about = "about " if call.estimated else ""
    line = f"{call.status}{http} after {call.latency_s:.2f} s"
    if call.tokens_in or call.tokens_out:
        line += f", {about}{call.tokens_in} tokens in, {call.tokens_out} out, {call.cost_usd:.4f} USD"
    return line if not call.message else f"{line}: {call.message}"
