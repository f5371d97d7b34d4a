"""What models cost where nobody says it in the configuration: from a file of one's own, and from `prices.yaml`."""

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from evaluator.untrusted import one_line
from evaluator.yaml_file import nearest, read_mapping
from evolve.errors import InputError

SHIPPED = Path(__file__).with_name("prices.yaml")
ANY = "any"
"""In the place of a host: wherever a model of that name is asked."""

OPENAI_URL = "https://api.openai.com/v1"
"""Where a model without a base_url is."""
_REQUIRED = ("in", "out")
_KEYS = (*_REQUIRED, "cached", "source", "date")


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
    for key in entry:
        if key not in _KEYS:
            raise InputError(f"{path}: {where} has the unknown key {key!r}{nearest(str(key), _KEYS)}")
    usd = {key: _usd(entry, key, path, where) for key in ("in", "out", "cached")}
    for key in _REQUIRED:
        if usd[key] is None:
            raise InputError(f"{path}: {where} lacks {key!r} (USD per million tokens)")
    cached = usd["cached"]
    return Price(
        price_in=usd["in"] or 0.0, price_out=usd["out"] or 0.0, price_cached=cached, price_from=_told(entry, path)
    )


def _usd(entry: Mapping[str, Any], key: str, path: Path, where: str) -> float | None:
    value = entry.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise InputError(f"{path}: {where}: {key} is {value!r}; it must be USD per million tokens, 0 or more")
    return float(value)


def _told(entry: Mapping[str, Any], path: Path) -> str:
    """Where a price is from: the source that the file names, and the day; else the file."""
    date = entry.get("date")
    day = f", read {date.isoformat()}" if isinstance(date, datetime.date) else ""
    return f"{entry.get('source') or path.name}{day}"
