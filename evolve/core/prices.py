"""Prices of models that the configuration does not price: from the user's file, and from `prices.yaml`."""

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field

from evaluator.input_files import Section, checked
from evaluator.untrusted import one_line
from evaluator.yaml_file import read_mapping
from evolve.core.errors import InputError

SHIPPED = Path(__file__).with_name("prices.yaml")
ANY = "any"
"""In the place of a host: the model of that name at any host."""

OPENAI_URL = "https://api.openai.com/v1"
"""The endpoint of a model without base_url."""


class Price(Section):
    """USD per million tokens."""

    price_in: float = Field(alias="in", ge=0, description="USD per million tokens")
    price_out: float = Field(alias="out", ge=0, description="USD per million tokens")
    price_cached: float | None = Field(default=None, alias="cached", ge=0)
    source: Any = None
    date: Any = None

    @property
    def price_from(self) -> str:
        """The source of the price, in words."""
        return f"{self.source}, read {self.date}" if self.date else str(self.source)


def host_of(base_url: str | None, *, name: str) -> str:
    """The host of the endpoint of the model `name`. Raises InputError for a malformed URL."""
    url = OPENAI_URL if base_url is None else base_url.strip()
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.scheme in ("http", "https") and parts.port != 0 else None
    except ValueError:
        host = None
    if not host:
        raise InputError(f"model {name!r}: base_url '{one_line(url)}' is not a URL such as http://localhost:8000/v1")
    return host


def price_of(model: str, host: str | None, *, file: str | None) -> Price | None:
    """The price of a model at a host, from `file` (the user's) or else from ours; None without one. A model without a
    host (None: a command or custom client) has the price for any host. Raises InputError naming the file and what is
    wrong with it."""
    for path in (*([] if file is None else [Path(file)]), SHIPPED):
        prices = read_prices(path)
        price = (None if host is None else prices.get((host, model))) or prices.get((ANY, model))
        if price is not None:
            return price
    return None


def read_prices(path: Path) -> dict[tuple[str, str], Price]:
    """The prices in a file, by host and model. Raises InputError naming the file and what is wrong with it."""
    prices: dict[tuple[str, str], Price] = {}
    for host, models in read_mapping(path, error=InputError).items():
        if not isinstance(models, dict):
            raise InputError(f"{path}: {host} must map models to their prices, not be a {type(models).__name__}")
        for model, entry in models.items():
            price = checked(Price, entry, f"{path}: {host}, {model}", InputError)
            prices[host, str(model)] = price.model_copy(update={"source": price.source or path.name})
    return prices
