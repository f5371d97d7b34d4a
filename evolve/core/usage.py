"""The cost of model calls: of one, of many together, and how much a run may spend."""

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens, US dollars and seconds of one call.

    `cost_usd` is None when the price is unknown. `estimated` says that the server stated no usage: tokens and cost are
    our estimate. `tokens_cached` are those of `tokens_in` that the provider had in its cache.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_cached: int = 0
    cost_usd: float | None = 0.0
    latency_s: float = 0.0
    estimated: bool = False

    def to_json(self) -> dict[str, Any]:
        """Its keys in an event; time measurements are under `measured`."""
        tokens = {"tokens_in": self.tokens_in, "tokens_out": self.tokens_out}
        tokens |= {"tokens_cached": self.tokens_cached} if self.tokens_cached else {}
        measured = {"latency_s": self.latency_s}
        return tokens | {"cost_usd": self.cost_usd, "estimated": self.estimated, "measured": measured}

    def __bool__(self) -> bool:
        """Whether a model took part: nothing is used offline."""
        return bool(self.tokens_in or self.tokens_out or self.cost_usd)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """The cost of many calls together: their tokens, the cost of those with a known price, and how many have none.

    `calls` counts every call that was sent; 0 says that no model was asked. `unanswered` of them failed or were lost;
    `unanswered_known_usd` is their estimated cost (part of `known_usd`), and `unanswered_unpriced` how many of them
    have no price. `tokens_cached` are those of `tokens_in` that the provider had in its cache.
    """

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    known_usd: float = 0.0
    unpriced: int = 0
    tokens_cached: int = 0
    unanswered: int = 0
    unanswered_known_usd: float = 0.0
    unanswered_unpriced: int = 0

    def __bool__(self) -> bool:
        """Whether a model took part."""
        return bool(self.calls or self.took)

    @property
    def tokens(self) -> int:
        """Tokens sent and received."""
        return self.tokens_in + self.tokens_out

    @property
    def cost_usd(self) -> float | None:
        """The total cost; None when a price is unknown."""
        return None if self.unpriced else self.known_usd

    @property
    def unanswered_usd(self) -> float | None:
        """The estimated cost of calls that failed or were lost; None when a price is unknown."""
        return None if self.unanswered_unpriced else self.unanswered_known_usd

    @property
    def took(self) -> bool:
        """Whether anything was used, at a known price or not: a refused call uses nothing."""
        return bool(self.tokens or self.known_usd or self.unpriced)

    def sent(self) -> "Spending":
        """With one more call, whose usage is not known yet."""
        return replace(self, calls=self.calls + 1)

    def plus(self, usage: Usage, *, answered: bool = True) -> "Spending":
        """With the usage of a call that was counted by `sent` before."""
        return replace(
            self,
            tokens_cached=self.tokens_cached + usage.tokens_cached,
            unanswered=self.unanswered + (not answered),
            unanswered_known_usd=self.unanswered_known_usd + (0.0 if answered else usage.cost_usd or 0.0),
            unanswered_unpriced=self.unanswered_unpriced + (not answered and usage.cost_usd is None),
            tokens_in=self.tokens_in + usage.tokens_in,
            tokens_out=self.tokens_out + usage.tokens_out,
            known_usd=self.known_usd + (usage.cost_usd or 0.0),
            unpriced=self.unpriced + (usage.cost_usd is None),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What a run may spend, each None where there is no such limit: dollars, tokens in and out, calls sent."""

    usd: float | None = None
    tokens: int | None = None
    calls: int | None = None

    def exceeded(self, *amounts: Spending) -> str | None:
        """The configuration key of the limit that these amounts together would exceed; None if they fit."""
        if self.usd is not None and sum(amount.known_usd for amount in amounts) > self.usd:
            return "budget_usd"
        if self.tokens is not None and sum(amount.tokens for amount in amounts) > self.tokens:
            return "budget_tokens"
        if self.calls is not None and sum(amount.calls for amount in amounts) > self.calls:
            return "budget_calls"
        return None


NOTHING = Usage()
