"""The text of files of suites and bounds: JSON, one entry a line."""

import json
from collections.abc import Iterable, Mapping
from typing import Any


def as_text(suite: str, key: str, entries: Iterable[Mapping[str, Any]], *, source: str | None = None) -> str:
    """The text of a file with `entries` under `key`; `source` says where they come from."""
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in entries)
    head = {"suite": suite} if source is None else {"suite": suite, "source": source}
    return f'{json.dumps(head)[:-1]}, "{key}": [\n{lines}\n]}}\n'
