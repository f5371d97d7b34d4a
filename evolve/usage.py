"""What an answer took: one value, passed on whole from the client of a model to the journal."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens, US dollars and seconds of one call, or of what became of it.

    `estimated` says that the server stated no usage, so that tokens and cost are our estimate.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    latency_s: float = 0.0
    estimated: bool = False

    def to_json(self) -> dict[str, Any]:
        """Its keys in an event; what a clock measured stands apart, under `measured`."""
        return {
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "cost_usd": self.cost_usd,
            "estimated": self.estimated,
            "measured": {"latency_s": self.latency_s},
        }

    @classmethod
    def from_json(cls, event: Mapping[str, Any]) -> Self:
        """The inverse, from an event that holds these keys among others. Raises KeyError, ValueError or TypeError."""
        return cls(
            tokens_in=int(event["tokens_in"]),
            tokens_out=int(event["tokens_out"]),
            cost_usd=float(event["cost_usd"]),
            latency_s=float(event["measured"]["latency_s"]),
            estimated=bool(event["estimated"]),
        )

    def __bool__(self) -> bool:
        """Whether a model took part: nothing is used offline."""
        return bool(self.tokens_in or self.tokens_out or self.cost_usd)


NOTHING = Usage()
