"""What calls took: known, unknown, and none at all."""

import pytest

from evolve.review.calls import spending_brief, spending_text, usage_text
from evolve.usage import Spending, Usage

KNOWN = Usage(tokens_in=1000, tokens_out=200, cost_usd=0.0125, latency_s=1.0)
UNKNOWN = Usage(tokens_in=30, tokens_out=4, cost_usd=None)


@pytest.mark.parametrize("usage", [KNOWN, UNKNOWN, Usage()])
def test_a_usage_comes_back_from_an_event_as_it_was(usage: Usage) -> None:
    assert Usage.from_json(usage.to_json()) == usage


def test_a_sum_tells_what_is_known_and_how_much_is_not() -> None:
    both = Spending().sent().plus(KNOWN).sent().plus(UNKNOWN)
    assert (both.calls, both.tokens_in, both.tokens_out, both.tokens) == (2, 1030, 204, 1234)
    assert (both.known_usd, both.unpriced, both.cost_usd) == (0.0125, 1, None)
    assert Spending().sent().plus(KNOWN).cost_usd == 0.0125


def test_what_is_not_known_is_called_so_and_no_model_is_no_cost() -> None:
    none, known = Spending(), Spending().sent().plus(KNOWN)
    unknown, both = Spending().sent().plus(UNKNOWN), Spending().sent().plus(KNOWN).sent().plus(UNKNOWN)
    assert [spending_brief(s) for s in (none, known, unknown, both)] == ["no model", "0.0125", "unknown", "0.0125 + ?"]
    assert spending_text(none) == "nothing: no model was asked"
    assert spending_text(known) == "1,000 tokens in, 200 out, 0.0125 USD"
    assert spending_text(unknown) == "30 tokens in, 4 out, cost unknown (no price is given)"
    assert spending_text(both) == "1,030 tokens in, 204 out, 0.0125 USD and what 1 call without a price cost"
    assert usage_text(UNKNOWN) == "30 tokens in, 4 out, cost unknown"
    free = Spending().sent().plus(Usage(tokens_in=5, tokens_out=5, cost_usd=0.0))
    assert spending_text(free) == "5 tokens in, 5 out, 0.0000 USD"  # a price of nothing is a price
