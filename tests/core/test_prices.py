"""What models cost: the list that ships, one's own, and that neither is believed where a host is another one."""

import re
from pathlib import Path
from typing import Any

import pytest

from evolve.core.config import build_config
from evolve.core.errors import InputError
from evolve.core.prices import SHIPPED, host_of, price_of, read_prices
from evolve.core.settings import configured


def test_every_price_that_ships_has_its_source_and_its_day() -> None:
    prices = read_prices(SHIPPED)
    assert len(prices) >= 5
    for (host, model), price in prices.items():
        assert re.fullmatch(r"[a-z.]+\.com", host), model
        assert re.fullmatch(r"https://\S+, read 20\d\d-\d\d-\d\d", price.price_from), model
        assert 0 < price.price_in < price.price_out
        assert price.price_cached is None or 0 < price.price_cached < price.price_in


def test_a_price_belongs_to_a_host(tmp_path: Path) -> None:
    (host, model), price = next(iter(read_prices(SHIPPED).items()))
    assert host_of(None, name="m") == host_of(" https://api.openai.com/v1 ", name="m") == "api.openai.com"
    assert price_of(model, host, file=None) == price
    assert price_of(model, "localhost", file=None) is None
    own = tmp_path / "own.yaml"
    own.write_text(f"localhost:\n  {model}: {{in: 0, out: 0}}\n")
    free = price_of(model, "localhost", file=str(own))
    assert free is not None and (free.price_in, free.price_out, free.price_from) == (0.0, 0.0, "own.yaml")
    assert price_of(model, host, file=str(own)) == price


@pytest.mark.parametrize("mine", [{"command": ["my-cli"]}, {"client": "a:B"}])
def test_what_is_asked_at_no_host_has_the_price_of_none(tmp_path: Path, mine: dict[str, Any]) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("api.openai.com:\n  gpt-5-mini: {in: 7, out: 9}\n")
    document = {"models": [{"model": "gpt-5-mini", **mine}], "prices": str(own)}
    assert configured(document).models[0].price_in is None
    own.write_text("any:\n  gpt-5-mini: {in: 1, out: 2}\n")
    assert configured(document).models[0].price_in == 1


@pytest.mark.parametrize(
    "url", ["http://[x/v1", "localhost:8000", "http://x:a/v1", "ftp://x", "http:///v1", "http://x:0"]
)
def test_no_price_is_looked_up_of_what_is_no_url(url: str) -> None:
    with pytest.raises(InputError, match=r"model 'm': base_url '.*' is not a URL such as"):
        configured({"models": [{"model": "m", "base_url": url}]})


def test_a_models_own_price_wins_and_then_a_file_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("api.openai.com:\n  gpt-5-mini: {in: 7, out: 9}\n")
    models = [{"model": "gpt-5-mini"}, {"model": "gpt-5-mini", "name": "b", "price_in": 1, "price_out": 2}]
    config = configured({"models": models, "prices": str(file)})
    assert [(m.price_in, m.price_out, m.price_from) for m in config.models] == [(7, 9, "own.yaml"), (1, 2, None)]


def test_a_configuration_on_record_is_not_priced_again() -> None:
    assert build_config({"models": [{"model": "gpt-5-mini"}]}, origin="run.yaml").models[0].price_in is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("any: 3", "any must map models"),
        ("any: {m: 3}", "any, m: must be a mapping"),
        ("any: {m: {in: 1}}", "any, m: out is missing (USD per million tokens)"),
        ("any: {m: {in: 1, out: -1}}", "any, m: out: must be greater than or equal to 0, not -1"),
        ("any: {m: {in: true, out: 1}}", "any, m: in: must be a valid number, not True"),
        ("any: {m: {in: 1, out: 1, cashed: 1}}", "any, m: unknown key 'cashed' (did you mean 'cached'?)"),
        ("- a", "must be a mapping"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=re.escape(message)) as wrong:
        configured({"models": [{"model": "m"}], "prices": str(file)})
    assert str(file) in str(wrong.value)
