"""What models cost where nobody says it in the configuration: from a file of one's own, and from `prices.yaml`."""

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
"""In the place of a host: wherever a model of that name is asked."""

OPENAI_URL = "https://api.openai.com/v1"
"""Where a model without a base_url is."""


class Price(Section):
    """USD per million tokens."""

    price_in: float = Field(alias="in", ge=0, description="USD per million tokens")
    price_out: float = Field(alias="out", ge=0, description="USD per million tokens")
    price_cached: float | None = Field(default=None, alias="cached", ge=0)
    source: Any = None
    date: Any = None

    @property
    def price_from(self) -> str:
        """Where that stands, in words."""
        return f"{self.source}, read {self.date}" if self.date else str(self.source)


def host_of(base_url: str | None, *, name: str) -> str:
    """The host of the endpoint of the model that is called `name`. Raises InputError for what is no URL of one."""
    url = OPENAI_URL if base_url is None else base_url.strip()
    try:
        parts = urlsplit(url)
        host = parts.hostname if parts.scheme in ("http", "https") and parts.port != 0 else None
    except ValueError:
        host = None
    if not host:
        raise InputError(f"model {name!r}: base_url {one_line(url)!r} is not a URL such as http://localhost:8000/v1")
    return host


def price_of(model: str, host: str | None, *, file: str | None) -> Price | None:
    """What a model costs at a host, by `file` (a user's own) or else by what ships; None where neither says. A model
    that is at no host (None: a command, a client of one's own) costs what is said of it for any.
    Raises InputError naming the file and what is wrong with it."""
    for path in (*([] if file is None else [Path(file)]), SHIPPED):
        known = read_prices(path)
        entry = (None if host is None else known.get((host, model))) or known.get((ANY, model))
        if entry is not None:
            return entry
    return None


def read_prices(path: Path) -> dict[tuple[str, str], Price]:
    """The prices in a file, by host and model. Raises InputError naming the file and what is wrong with it."""
    found: dict[tuple[str, str], Price] = {}
    for host, models in read_mapping(path, error=InputError).items():
        if not isinstance(models, dict):
            raise InputError(f"{path}: {host} must map models to their prices, not be a {type(models).__name__}")
        for model, entry in models.items():
            price = checked(Price, entry, f"{path}: {host}, {model}", InputError)
            found[host, str(model)] = price.model_copy(update={"source": price.source or path.name})
    return found
