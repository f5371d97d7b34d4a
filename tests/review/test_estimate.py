"""What a run is likely to cost: said before it is paid for, and never a number where a price is not known."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.core.config import Config, build_config
from evolve.core.usage import Spending
from evolve.review.estimate import Estimate, estimate, estimate_lines


def config(**keys: Any) -> Config:
    models = keys.pop("models", [{"model": "m", "price_in": 1.0, "price_out": 4.0}])
    return build_config({"models": models, **keys}, origin="test")


def estimated(settings: Config, **known: Any) -> Estimate:
    found = estimate(settings, **{"source_tokens": 400, "spent": Spending(), **known})
    assert found is not None
    return found


def test_what_a_run_costs_in_a_sentence() -> None:
    settings = config(generations=100, budget_usd=1.0, budget_calls=1000)
    line, price = estimate_lines(estimated(settings), settings)
    # 100 x (7,600 + 3,880 in, 1,350 + 380 out), and at most 100 x (3 x (32,000 in, 2,000 out) + the document's)
    assert line == (
        "100 generations: about $1.84, at most $12.54 with answers of up to 2,000 tokens; "
        "the budget buys about 54 generations."
    )
    assert price == "m: 1 USD per million tokens in, 4 out (from your configuration)"


def test_what_is_on_record_is_what_the_next_ones_take() -> None:
    spent = Spending(calls=60, tokens_in=90_000, tokens_out=10_000, known_usd=0.5)
    found = estimated(config(generations=100), begun=52, ended=50, spent=spent)
    assert (found.generations, found.about_usd) == (48, pytest.approx(48 * 0.01))
    few = estimated(config(generations=100), begun=5, ended=5, spent=spent)
    assert few.about_usd != pytest.approx(95 * 0.1)


@pytest.mark.parametrize(
    ("models", "unpriced"),
    [
        ([{"model": "m"}], ("m",)),
        ([{"model": "m", "price_in": 1.0}], ("m",)),
        ([{"model": "m", "price_in": 1.0, "price_out": 1.0}, {"model": "n"}], ("n",)),
        ([{"model": "m", "price_in": 1.0, "price_out": 1.0}, {"model": "n", "weight": 0}], ()),
    ],
)
def test_an_unknown_price_is_unknown_and_never_nothing(models: list[Any], unpriced: tuple[str, ...]) -> None:
    settings = config(models=models)
    found = estimated(settings)
    assert found.unpriced == unpriced
    assert (found.about_usd is None) == (found.at_most_usd is None) == bool(unpriced)
    assert ("unknown" in next(estimate_lines(found, settings))) == bool(unpriced)


CHEAP: dict[str, Any] = {"model": "m", "price_in": 0.1, "price_out": 0.4}
DEAR: dict[str, Any] = {"model": "n", "price_in": 15.0, "price_out": 75.0, "weight": 0}
DOCUMENT = (3880 * 0.1 + 380 * 0.4) / 1e6


def a_call(model: dict[str, Any]) -> float:
    """The longest one, in USD."""
    return float(32_000 * model["price_in"] + 2_000 * model["price_out"]) / 1e6


@pytest.mark.parametrize(
    ("keys", "models", "most"),
    [
        ({"repair_model": "n"}, [CHEAP, DEAR], 3 * a_call(DEAR)),  # it gets the first attempt of a fix, and all repairs
        ({"repair_model": "m"}, [CHEAP, {**DEAR, "weight": 1}], a_call(DEAR) + 2 * a_call(CHEAP)),
        ({"search": {"models": "bandit"}}, [CHEAP, {**DEAR, "weight": 0.01}], 3 * a_call(DEAR)),
        ({}, [CHEAP, DEAR], 3 * a_call(CHEAP)),
        ({"repair_model": "n"}, [{"model": "scripted:x.yaml"}, DEAR], 3 * a_call(DEAR) - DOCUMENT),
    ],
)
def test_at_most_is_asked_of_the_most_expensive_model(keys: dict[str, Any], models: list[Any], most: float) -> None:
    found = estimated(config(models=models, generations=10, **keys))
    assert found.at_most_usd == pytest.approx(10 * (most + DOCUMENT))


def test_the_price_of_a_model_that_repairs_must_be_known() -> None:
    models = [CHEAP, {"model": "n", "weight": 0}]
    assert estimated(config(models=models, repair_model="n")).unpriced == ("n",)


def test_nothing_is_said_where_no_model_is_asked() -> None:
    for models in ([], [{"model": "scripted:x.yaml"}]):
        assert estimate(config(models=models), source_tokens=1, spent=Spending()) is None


@given(
    generations=st.integers(1, 10_000) | st.none(),
    source=st.integers(0, 20_000),
    prices=st.tuples(st.just(0.0) | st.floats(1e-9, 100), st.just(0.0) | st.floats(1e-9, 500)),
    max_tokens=st.integers(1, 100_000) | st.none(),
    budget=st.floats(0.01, 1000) | st.none(),
    repair=st.booleans(),
    known=st.just(0.0) | st.floats(0.01, 1000),
)
def test_at_most_is_never_less_than_about(
    generations: int | None,
    source: int,
    prices: tuple[float, float],
    max_tokens: int | None,
    budget: float | None,
    repair: bool,
    known: float,
) -> None:
    model = {"model": "m", "price_in": prices[0], "price_out": prices[1], "max_tokens": max_tokens}
    more: dict[str, Any] = {"repair_model": "r"} if repair else {}
    models = [model, {"model": "r", "price_in": prices[1], "price_out": prices[0], "weight": 0}] if repair else [model]
    settings = config(models=models, generations=generations, minutes=1.0, budget_usd=budget, **more)
    spent = Spending(calls=20, known_usd=known) if known else Spending()
    found = estimated(settings, source_tokens=source, ended=20 if known else 0, spent=spent)
    assert found.about_usd is not None and found.at_most_usd is not None
    assert 0 <= found.about_usd <= found.at_most_usd * (1 + 1e-9)
    assert (found.affordable is None) == (budget is None or not (known or any(prices)))
    assert all(estimate_lines(found, settings))


@pytest.mark.parametrize("price", [5e-324, 1e-310, 1e-300])
def test_a_price_next_to_nothing_is_no_traceback(price: float) -> None:
    settings = config(models=[{"model": "m", "price_in": price, "price_out": 0.0}], budget_usd=1000.0)
    found = estimated(settings)
    assert found.affordable is None or found.affordable > 0
    assert all(estimate_lines(found, settings))
