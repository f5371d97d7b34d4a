"""What calls took: known, unknown, and none at all."""

from evolve.core.usage import Spending, Usage
from evolve.review.calls import paid_text, spending_brief, spending_text, usage_text

KNOWN = Usage(tokens_in=1000, tokens_out=200, cost_usd=0.0125, latency_s=1.0)
UNKNOWN = Usage(tokens_in=30, tokens_out=4, cost_usd=None)


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


def test_calls_without_an_answer_and_a_price_cost_what_nobody_knows_and_refused_ones_nothing() -> None:
    lost = Spending().sent().plus(UNKNOWN, answered=False)
    assert (lost.unanswered_usd, lost.cost_usd) == (None, None)
    unknown = "30 tokens in, 4 out, cost unknown (no price is given)"
    assert spending_text(lost) == f"{unknown} (of which cost unknown for 1 call that failed or got lost)"
    some = lost.sent().plus(KNOWN, answered=False).sent().plus(KNOWN)
    assert spending_text(some).endswith("(of which 0.0125 USD + ? for 2 calls that failed or got lost)")
    refused = Spending().sent().plus(Usage(), answered=False)
    assert spending_text(refused) == "nothing for 1 call that failed or got lost"
    assert [spending_brief(refused), paid_text(refused), paid_text(lost)] == [
        "nothing",
        "nothing spent",
        "cost unknown",
    ]
    assert spending_text(Spending().sent()) == "nothing for 1 call"
    text = spending_text(refused.sent().plus(UNKNOWN))
    assert text.endswith("cost unknown (no price is given) (of which nothing for 1 call that failed or got lost)")
    assert (paid_text(Spending()), paid_text(Spending().sent().plus(KNOWN))) == ("no model", "0.0125 USD")
