"""The HTTP attempts behind an answer, and what they took, in words."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from evolve.archive.calls import CALLING, Asked, Call, usage_json
from evolve.archive.reader import RunReader
from evolve.core.usage import Spending, Usage
from evolve.review.texts import counted

KINDS: Final = {"patch": "patches", "repair": "repairs", "retry": "retries", "insights": "insights reports"}
"""What a call is for, with the plural. A repair is asked for after a refusal or a failed evaluation; a retry is another
HTTP attempt for a patch or a repair. Whatever is sent for an insights report counts there."""
_CUT_OFF: Final = "the run was interrupted during this call; on resume the amount reserved for it is charged"


def asked_for(archive: RunReader, generation: int) -> list[Asked]:
    """Every question put for a generation."""
    return [
        (attempt, [_with_cut_off(archive, call) for call in archive.http_attempts(attempt, attempt.key)])
        for attempt in archive.attempts(generation)
    ]


def with_kinds(asked: Iterable[Asked]) -> Iterator[tuple[str, Call]]:
    """The calls for a generation, each with what it was for: a key of KINDS."""
    for attempt, calls in asked:
        first = "repair" if attempt.attempt else "patch"
        yield from ((first if number == 0 else "retry", call) for number, call in enumerate(calls))


def by_kind_text(rows: Iterable[Mapping[str, Any]]) -> str:
    """How many calls each kind took, and their cost: `24 patches (0.1200 USD), 3 repairs (0.0150 USD)`."""
    named = ((row, row["kind"] if row["total"] == 1 else KINDS[row["kind"]]) for row in rows)
    return ", ".join(f"{row['total']} {name} ({_cost_of(row)})" for row, name in named)


def _cost_of(row: Mapping[str, Any]) -> str:
    took = row["tokens_in"] or row["tokens_out"] or row["cost_usd"] != 0
    return _cost(row["cost_usd"]) if took else "nothing"


def attempt_json(asked: Asked) -> dict[str, Any]:
    """One question to a model without its texts: its cost and its outcome."""
    attempt, calls = asked
    question = {name: getattr(attempt, name) for name in ("attempt", "status", "reason", "message", "model")}
    question |= {"repair": attempt.repair}
    ended = {
        "finish_reason": attempt.finish_reason,
        "tuning": None if attempt.tuning is None else dict(attempt.tuning),
        "guidance": None if attempt.guidance is None else dict(attempt.guidance),
        "followed": attempt.followed,
        "calls": [call.to_json() for call in calls],
    }
    return question | usage_json(attempt.usage) | ended


def _with_cut_off(archive: RunReader, call: Call) -> Call:
    """The call, with a message where the run was cut off before it ended."""
    return call if call.status != CALLING or archive.running else replace(call, message=_CUT_OFF)


def call_line(call: Call) -> str:
    """A call in one sentence."""
    http = "" if call.http_status is None else f" (HTTP {call.http_status})"
    drawn = ", ".join(f"{name} {value}" for name, value in call.sampled.items())
    line = f"{call.status}{http}{f' with {drawn}' if drawn else ''} after {call.usage.latency_s:.2f} s"
    if call.usage:
        line += f", {usage_text(call.usage)}"
    explanation = "; ".join((*filter(None, (call.message,)), *call.adapted))
    return f"{line}: {explanation}" if explanation else line


def usage_text(usage: Usage) -> str:
    """Tokens and cost in a few words; "about" where the server stated none."""
    about = "about " if usage.estimated else ""
    cached = f" ({usage.tokens_cached:,} from the cache)" if usage.tokens_cached else ""
    return f"{about}{usage.tokens_in:,} tokens in{cached}, {usage.tokens_out:,} out, {_cost(usage.cost_usd)}"


def spending_text(spending: Spending) -> str:
    """What was spent, in a few words; an unknown part is named as unknown."""
    if not spending:
        return "nothing: no model was asked"
    if not spending.took:
        sent = f" for {counted(spending.calls, 'call')}"
        return f"nothing{unanswered_text(spending) or sent}"
    cached = f" ({spending.tokens_cached:,} from the cache)" if spending.tokens_cached else ""
    tokens = f"{spending.tokens_in:,} tokens in{cached}, {spending.tokens_out:,} out"
    if not spending.unpriced:
        return f"{tokens}, {_cost(spending.known_usd)}{unanswered_text(spending)}"
    if not spending.known_usd:
        return f"{tokens}, cost unknown (no price is given){unanswered_text(spending)}"
    calls = counted(spending.unpriced, "call")
    return f"{tokens}, {_cost(spending.known_usd)} and what {calls} without a price cost{unanswered_text(spending)}"


def unanswered_text(spending: Spending) -> str:
    """The assumed cost of failed or lost calls, in brackets; empty without such calls."""
    if not spending.unanswered:
        return ""
    subject = f"for {counted(spending.unanswered, 'call')} that failed or got lost"
    usd, known_usd = spending.unanswered_usd, spending.unanswered_known_usd
    if not spending.took:
        return f" {subject}"
    if usd is None:
        return f" (of which {f'{_cost(known_usd)} + ?' if known_usd else _cost(None)} {subject})"
    return f" (of which {_cost(usd) if usd or not spending.unpriced else 'nothing'} {subject})"


def under_way_text(kept: Spending, *, running: bool) -> str:
    """The calls without a recorded end, in a clause; empty without any. Where the run is not `running`, none will
    follow."""
    if not kept.calls:
        return ""
    calls, amount = counted(kept.calls, "call"), spending_text(kept)
    were, pronoun = ("was", "it is") if kept.calls == 1 else ("were", "they are")
    if running:
        return f"{calls} under way, with {amount} reserved"
    charged = f"charged as {amount}" if kept.took else "counted as calls without cost"
    return f"{calls} {were} interrupted; on resume {pronoun} {charged}"


def spending_brief(spending: Spending, *, cut_off: bool = False) -> str:
    """What was spent, for a column under `USD`; `cut_off`: there are also calls without a recorded end."""
    if not spending:
        return "no model"
    if not spending.took:
        return "unknown" if cut_off else "nothing"
    if not spending.unpriced and not cut_off:
        return f"{spending.known_usd:.4f}"
    return f"{spending.known_usd:.4f} + ?" if spending.known_usd else "unknown"


def paid_text(spending: Spending) -> str:
    """What was spent, with its unit."""
    brief = spending_brief(spending)
    return {"unknown": "cost unknown", "nothing": "nothing spent"}.get(brief, brief if not spending else f"{brief} USD")


def _cost(usd: float | None) -> str:
    return "cost unknown" if usd is None else f"{usd:.4f} USD"
