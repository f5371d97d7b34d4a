"""What models cost where nobody says it in the configuration: from a file of one's own, and from `prices.yaml`."""

import datetime
import math
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from evaluator.untrusted import one_line
from evaluator.yaml_file import nearest, read_mapping
from evolve.errors import InputError

SHIPPED = Path(__file__).with_name("prices.yaml")
ANY = "any"
"""In the place of a host: wherever a model of that name is asked."""

OPENAI_URL = "https://api.openai.com/v1"
"""Where a model without a base_url is."""
_PRICES = ("in", "out", "cached")
_KEYS = (*_PRICES, "source", "date")


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """USD per million tokens; `price_from` says in words where that stands."""

    price_in: float
    price_out: float
    price_cached: float | None
    price_from: str


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
            found[host, str(model)] = _price(entry, path, f"{host}, {model}")
    return found


def _price(entry: object, path: Path, where: str) -> Price:
    if not isinstance(entry, dict):
        raise InputError(f"{path}: {where} must be a mapping such as {{in: 0.25, out: 2}}")
    for key, value in entry.items():
        if key not in _KEYS:
            raise InputError(f"{path}: {where} has the unknown key {key!r}{nearest(str(key), _KEYS)}")
        if key in _PRICES and value is not None and (type(value) not in (int, float) or not 0 <= value < math.inf):
            raise InputError(f"{path}: {where}: {key} is {value!r}; it must be USD per million tokens, 0 or more")
    price_in, price_out, price_cached = (None if entry.get(key) is None else float(entry[key]) for key in _PRICES)
    if price_in is None or price_out is None:
        lacking = "in" if price_in is None else "out"
        raise InputError(f"{path}: {where} lacks {lacking!r} (USD per million tokens)")
    date = entry.get("date")
    day = f", read {date.isoformat()}" if isinstance(date, datetime.date) else ""
    source = f"{entry.get('source') or path.name}{day}"
    return Price(price_in=price_in, price_out=price_out, price_cached=price_cached, price_from=source)
