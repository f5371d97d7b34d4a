"""The HTTP attempts behind an answer, each with how it ended: answered, failed for a reason, or lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evolve.archive.archive import Archive
from evolve.archive.records import AttemptRecord, Status
from evolve.completion import FINISH_REASONS, Adaptation, patch_key
from evolve.usage import Spending, Usage

CALLING = "calling"
LOST = "lost"
"""The process was killed before the end of the call was written: what it cost is an estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One HTTP attempt. `status` is how an answer ended (`stop`, `length`, ...), why there was none (`timeout`, ...),
    `lost`, or `calling` while it is under way. `sampled` is what was drawn for it from settings that are lists, and
    `adapted` what is asked otherwise since then."""

    status: str
    http_status: int | None
    usage: Usage
    message: str
    sampled: Mapping[str, float | str] = field(default_factory=dict)
    adapted: tuple[str, ...] = ()

    @property
    def answered(self) -> bool:
        """Whether it brought an answer, usable or not."""
        return self.status in FINISH_REASONS

    def to_json(self) -> dict[str, Any]:
        """The keys of one call in `evolve show --json`."""
        return {
            "status": self.status,
            "http_status": self.http_status,
            **usage_json(self.usage),
            "message": self.message,
            "sampled": dict(self.sampled),
            "adapted": list(self.adapted),
        }


Asked = tuple[AttemptRecord, Sequence[Call]]
"""A question to a model with the HTTP attempts that it took."""


def asked_for(archive: Archive, generation: int) -> list[Asked]:
    """Every question put for a generation."""
    return [
        (attempt, calls_of(attempt, archive.calls(patch_key(generation, attempt.attempt))))
        for attempt in archive.attempts(generation)
    ]


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
            found.append(replace(_of_event(following, following["status"]), sampled=event.get("sampled", {})))
        elif following is None and attempt.answer is not None:
            found.append(_answered(attempt, event.get("sampled", {})))
        else:
            open_still = following is None and attempt.status is Status.ASKED
            found.append(_of_event(event, CALLING if open_still else LOST))
    return found


def _answered(attempt: AttemptRecord, sampled: Mapping[str, float | str]) -> Call:
    return Call(
        status=attempt.finish_reason or "stop",
        http_status=None,
        usage=attempt.usage,
        message="",
        sampled=sampled,
    )


def _of_event(event: Mapping[str, Any], status: str) -> Call:
    return Call(
        status=status,
        http_status=event["http_status"],
        usage=Usage.from_json(event),
        message=event["message"],
        sampled=event.get("sampled", {}),
        adapted=tuple(str(Adaptation.from_json(one)) for one in event.get("adapted", ())),
    )


def call_line(call: Call) -> str:
    """A call in one sentence."""
    http = "" if call.http_status is None else f" (HTTP {call.http_status})"
    line = f"{call.status}{http}{sampled_text(call.sampled)} after {call.usage.latency_s:.2f} s"
    if call.usage:
        line += f", {usage_text(call.usage)}"
    return line if not call.message else f"{line}: {call.message}"


def sampled_text(sampled: Mapping[str, float | str]) -> str:
    """What was drawn for a call, behind other words; empty where nothing was."""
    return f" with {', '.join(f'{name} {value}' for name, value in sampled.items())}" if sampled else ""


def usage_text(usage: Usage) -> str:
    """Tokens and cost in a few words; "about" where the server stated none."""
    about = "about " if usage.estimated else ""
    cached = f" ({usage.tokens_cached:,} from the cache)" if usage.tokens_cached else ""
    return f"{about}{usage.tokens_in:,} tokens in{cached}, {usage.tokens_out:,} out, {_cost(usage.cost_usd)}"


def spending_of(attempts: Sequence[Asked]) -> Spending:
    """What the questions of a generation took together, the calls that failed included."""
    total = Spending()
    for attempt, calls in attempts:
        total = replace(total, calls=total.calls + len(calls))
        for call in calls:
            total = total.plus(call.usage, answered=call.status == CALLING or call.answered)
        if not calls:
            total = total.plus(attempt.usage)
    return total


def spending_text(spending: Spending) -> str:
    """What was spent, in a few words; what is not known is called so."""
    if not spending:
        return "nothing: no model was asked"
    cached = f" ({spending.tokens_cached:,} from the cache)" if spending.tokens_cached else ""
    tokens = f"{spending.tokens_in:,} tokens in{cached}, {spending.tokens_out:,} out"
    if not spending.unpriced:
        return f"{tokens}, {_cost(spending.known_usd)}{unanswered_text(spending)}"
    if not spending.known_usd:
        return f"{tokens}, cost unknown (no price is given){unanswered_text(spending)}"
    calls = _calls(spending.unpriced)
    return f"{tokens}, {_cost(spending.known_usd)} and what {calls} without a price cost{unanswered_text(spending)}"


def unanswered_text(spending: Spending) -> str:
    """How much of it failed or lost calls are taken to have cost, in brackets; empty where there was none."""
    if not spending.unanswered:
        return ""
    return f" (of which {_cost(spending.unanswered_usd)} for {_calls(spending.unanswered)} that failed or got lost)"


def _calls(count: int) -> str:
    return f"{count} call" + ("" if count == 1 else "s")


def spending_brief(spending: Spending) -> str:
    """What was spent, for a column under `USD`."""
    if not spending:
        return "no model"
    if not spending.unpriced:
        return f"{spending.known_usd:.4f}"
    return f"{spending.known_usd:.4f} + ?" if spending.known_usd else "unknown"


def _cost(usd: float | None) -> str:
    return "cost unknown" if usd is None else f"{usd:.4f} USD"


def usage_json(usage: Usage) -> dict[str, Any]:
    """Its keys where they stand beside others."""
    keys = usage.to_json()
    return {**{key: value for key, value in keys.items() if key != "measured"}, **keys["measured"]}
