"""Where a cluster is: `dask:local:4`, `dask://HOST:PORT`, `dask+tls://HOST:PORT`."""

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from evaluator.untrusted import one_line
from evolve.core.errors import InputError

MOST_LOCAL: Final = 256
"""The most worker processes that are started on this machine."""
_LOCAL: Final = re.compile(r"dask:local:([1-9][0-9]{0,2})", re.ASCII)
_SCHEMES: Final = {"dask": "tcp", "tcp": "tcp", "dask+tls": "tls", "tls": "tls", "": "tcp"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAddress:
    """A scheduler by its address as Dask writes it, or `local` workers to start on this machine."""

    scheduler: str = ""
    local: int = 0


def read_address(text: str) -> ClusterAddress:
    """The cluster that a user names. Raises InputError."""
    local = _LOCAL.fullmatch(text)
    if local is None:
        return ClusterAddress(scheduler=scheduler_address(text))
    count = int(local[1])
    if count > MOST_LOCAL:
        raise InputError(f"{text!r} would start {count} worker processes here; at most {MOST_LOCAL} are started")
    return ClusterAddress(local=count)


def scheduler_address(text: str) -> str:
    """The address of a scheduler as Dask writes it, for `dask://HOST:PORT`, `tcp://HOST:PORT` or `HOST:PORT`. Raises
    InputError."""
    parts = urlsplit(text if "://" in text else f"//{text}")
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme not in _SCHEMES or not parts.hostname or not port or parts.path or parts.query or parts.username:
        raise InputError(
            f"{one_line(text, 100)!r} is no cluster; give dask://HOST:PORT (dask+tls://HOST:PORT with certificates), "
            "or dask:local:N for N worker processes on this machine"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{_SCHEMES[parts.scheme]}://{host}:{port}"
