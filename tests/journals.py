"""Reading and forging journals: lines sealed again, as a forger would."""

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from evolve.archive.lines import BEGINNING, TAIL, seal, unseal


def events_of(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a journal, which must be sound, as far as its lines are whole."""
    checksum = BEGINNING
    for line in path.read_bytes().split(b"\n")[:-1]:
        event, checksum = unseal(line, checksum)
        yield event


def rewrite(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the events of a journal in place, and seal it again."""
    events = list(events_of(path))
    for event in events:
        change(event)
    path.write_bytes(sealed(events))


def sealed(events: Iterable[dict[str, Any]]) -> bytes:
    """A journal of these events."""
    checksum, lines = BEGINNING, []
    for event in events:
        line, _, checksum = seal(event, checksum)
        lines.append(line)
    return b"".join(lines)


def bare(line: bytes) -> dict[str, Any]:
    """The event of a line without its checksum, whether it fits or not."""
    event: dict[str, Any] = json.loads(line.rstrip(b"\n")[:-TAIL] + b"}")
    return event
