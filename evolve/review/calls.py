"""The HTTP attempts behind an answer, and what they took, in words."""

from evolve.archive.archive import Archive
from evolve.archive.calls import Asked, Call, calls_of
from evolve.completion import patch_key
from evolve.usage import Spending, Usage


def asked_for(archive: Archive, generation: int) -> list[Asked]:
    """Every question put for a generation."""
    return [
        (attempt, calls_of(attempt, archive.calls(patch_key(generation, attempt.attempt))))
        for attempt in archive.attempts(generation)
    ]


def call_line(call: Call) -> str:
    """A call in one sentence."""
    http = "" if call.http_status is None else f" (HTTP {call.http_status})"
    line = f"{call.status}{http} after {call.usage.latency_s:.2f} s"
    if call.usage:
        line += f", {usage_text(call.usage)}"
    return line if not call.message else f"{line}: {call.message}"


def usage_text(usage: Usage) -> str:
    """Tokens and cost in a few words; "about" where the server stated none."""
    about = "about " if usage.estimated else ""
    return f"{about}{usage.tokens_in:,} tokens in, {usage.tokens_out:,} out, {_cost(usage.cost_usd)}"


def spending_text(spending: Spending) -> str:
    """What was spent, in a few words; what is not known is called so."""
    if not spending:
        return "nothing: no model was asked"
    tokens = f"{spending.tokens_in:,} tokens in, {spending.tokens_out:,} out"
    if not spending.unpriced:
        return f"{tokens}, {_cost(spending.known_usd)}"
    if not spending.known_usd:
        return f"{tokens}, cost unknown (no price is given)"
    calls = f"{spending.unpriced} call" + ("" if spending.unpriced == 1 else "s")
    return f"{tokens}, {_cost(spending.known_usd)} and what {calls} without a price cost"


def spending_brief(spending: Spending) -> str:
    """What was spent, for a column under `USD`."""
    if not spending:
        return "no model"
    if not spending.unpriced:
        return f"{spending.known_usd:.4f}"
    return f"{spending.known_usd:.4f} + ?" if spending.known_usd else "unknown"


def _cost(usd: float | None) -> str:
    return "cost unknown" if usd is None else f"{usd:.4f} USD"
