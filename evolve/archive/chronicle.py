"""What people read of a run beside its programs: sessions, notes, and which generations have changed since when."""

import itertools
from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, Final

from evolve.archive.records import NoteRecord, SessionRecord
from evolve.completion import Adaptation, MetaKey, PatchKey, meta_key, request_key
from evolve.program import PatchKind

_CLOCKS_DIFFER_S: Final = 0.01


class Chronicle:
    """The sum of all events so far, as far as no decision about a program depends on it. In order of time."""

    def __init__(self) -> None:
        self.events = 0  # how many were added
        self.notes: list[NoteRecord] = []
        self.sessions: list[SessionRecord] = []
        self.meta_answers: dict[MetaKey, Mapping[str, Any]] = {}  # the `meta_answered` events
        self.adaptations: list[Adaptation] = []  # what is asked otherwise of the models as they are configured now
        self._worked = 0.0  # when the newest event of a session was
        self._pauses: list[tuple[float, float]] = []  # when a session went on, and how long all pauses before it took
        self._going_on = False  # whether a session is, as far as is known: one that was killed leaves no event
        self._question: tuple[float, float] | None = None  # of a search, if just asked: when, and when `_worked` was
        self._touched: dict[int, int] = {}  # by generation, the number of the newest event about it, oldest first
        self._all_touched = 0  # the number of the newest event about all of them

    def add(self, event: Mapping[str, Any]) -> None:
        """Add an event that is sound."""
        self.events += 1
        t, name, generation = float(event["t"]), event["event"], event.get("generation")
        if name == "called" and isinstance(key := request_key(event["key"]), PatchKey):
            generation = key.generation
        if generation is not None:
            self._touched.pop(generation, None)
            self._touched[generation] = self.events
        if name in ("rescored", "excluded") or "identity" in event:  # which was the best after each is judged anew
            self._all_touched = self.events
        if name == "called":
            self.adaptations += map(Adaptation.from_json, event.get("adapted", ()))
        if name == "resumed":
            if "models" in event["changed"]:  # they are asked as they are configured now, and what they refuse is found
                self.adaptations = []
            self._pauses.append((t, self._paused(t) + max(0.0, t - self._worked)))
        if name == "answered" and "tuning" in event:
            self._searched(t, float(event["measured"]["latency_s"]))
        self._question = (t, self._worked) if name == "asked" and event.get("kind") == PatchKind.TUNE else None
        if name != "noted":
            self._worked = t
        if name == "meta_answered":
            self.meta_answers[meta_key(event["key"])] = event
        elif name == "noted":
            self.notes.append(NoteRecord(t=t, generation=event["generation"], text=event["text"]))
        elif name in ("created", "resumed", "stopped"):
            self._going_on = name != "stopped"
            detail = {key: event[key] for key in ("reason", "changed", "identity", "rescore") if key in event}
            self.sessions.append(SessionRecord(t=t, event=name, detail=detail))

    def seconds(self, t: float | None = None) -> float:
        """For how many seconds sessions (and searches between them) had gone on at a moment (None: now)."""
        if not self.sessions:
            return 0.0
        until = self._worked if t is None else t
        return max(0.0, until - self.sessions[0].t - self._paused(until))

    def _searched(self, t: float, took_s: float) -> None:
        """A search over numbers has ended. One between two sessions (`evolve tune`) is written down afterwards,
        question and answer at once: the time before it began is no work."""
        if self._question is None:
            return
        asked, worked = self._question
        began = min(asked, t - took_s)
        if not self._going_on or began < asked - _CLOCKS_DIFFER_S:
            self._pauses.append((asked, self._paused(asked) + max(0.0, began - worked)))

    def _paused(self, t: float) -> float:
        at = bisect_right(self._pauses, t, key=lambda pause: pause[0])
        return self._pauses[at - 1][1] if at else 0.0

    def touched(self, since: int) -> list[int]:
        """The generations that an event was about after the first `since` ones, lowest first: all others are as they
        were. It takes as long as there are such generations, however many others there are."""
        if self._all_touched > since:
            return sorted(self._touched)
        newer = itertools.takewhile(lambda entry: entry[1] > since, reversed(self._touched.items()))
        return sorted(generation for generation, _ in newer)
