"""What people read of a run beside its programs: sessions, notes, and which generations have changed since when."""

import itertools
from collections.abc import Mapping
from typing import Any

from evolve.archive.records import NoteRecord, SessionRecord


class Chronicle:
    """The sum of all events so far, as far as no decision of a run depends on it. In order of time."""

    def __init__(self) -> None:
        self.events = 0  # how many were added
        self.notes: list[NoteRecord] = []
        self.sessions: list[SessionRecord] = []
        self._touched: dict[int, int] = {}  # by generation, the number of the newest event about it, oldest first

    def add(self, event: Mapping[str, Any]) -> None:
        """Add an event that is sound."""
        self.events += 1
        t, name, generation = float(event["t"]), event["event"], event.get("generation")
        if name == "called" and event["key"].startswith("patch/"):
            generation = int(event["key"].split("/")[1])
        if generation is not None:
            self.touch(generation)
        if name == "noted":
            self.notes.append(NoteRecord(t=t, generation=event["generation"], text=event["text"]))
        elif name in ("created", "resumed", "stopped"):
            detail = {key: event[key] for key in ("reason", "changed", "identity", "rescore") if key in event}
            self.sessions.append(SessionRecord(t=t, event=name, detail=detail))

    def touch(self, generation: int) -> None:
        """Note that the newest event changed what is known of a generation."""
        self._touched.pop(generation, None)
        self._touched[generation] = self.events

    def touched(self, since: int) -> list[int]:
        """The generations that an event was about after the first `since` ones, lowest first: all others are as they
        were. It takes as long as there are such generations, however many others there are."""
        newer = itertools.takewhile(lambda entry: entry[1] > since, reversed(self._touched.items()))
        return sorted(generation for generation, _ in newer)
