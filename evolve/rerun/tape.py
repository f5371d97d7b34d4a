"""The events on record, one after the other, and what is made anew held against each."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from evolve.archive.archive import Archive
from evolve.archive.journal import Entry, Journal
from evolve.archive.layout import JOURNAL
from evolve.rerun.parting import Parted, Parting, SessionOver, part_of
from evolve.rerun.record import Record
from evolve.rerun.verdicts import as_read, settled

TAKEN_OVER: Final = frozenset({"called", "stopped", "noted", "fresh"})
"""Events that nothing is decided by: calls made then, how sessions ended, instances that chance drew, notes."""
_UNCOMPARED: Final = TAKEN_OVER | {"resumed", "lost"}
_OF_THE_CLOCK: Final = frozenset({"seq", "t", "measured", "config", "certificate", "run_id"})
_WHICH: Final = ("event", "generation", "attempt", "key", "programs")
_BETWEEN_SESSIONS: Final = ("resumed", "noted")
_VERDICTS: Final = ("evaluated", "rescored")


class Tape:
    """Which event comes next, and whether what comes is that."""

    def __init__(self, record: Record, *, lenient: bool) -> None:
        self._events = record.events()
        self._record = record
        self._lenient = lenient
        self._next: Mapping[str, Any] | None = None
        self.archive: Archive | None = None
        """The one that is written."""
        self.as_recorded = False
        """Whether questions stand as they are on record: the configuration that they came from does not."""
        self.judge_is_here = True
        self.passed: Counter[str] = Counter()
        """How many events of each name were met; of those refused, `unusable` are answers."""
        self.advance()

    @property
    def next(self) -> Mapping[str, Any] | None:
        """The event on record that comes next; None at its end."""
        return self._next

    def text(self, object_id: str) -> str:
        """A text on record, by the id of its object."""
        return self._record.archive.text(object_id)

    def advance(self) -> Mapping[str, Any] | None:
        """Go on to the next one."""
        if (passed := self._next) is not None:
            self.passed[passed["event"]] += 1
            self.passed["as_recorded"] += passed["event"] == "asked" and self.as_recorded
            self.passed["unusable"] += passed["event"] == "refused" and passed["status"] != "failed"
            self.passed["documents"] += bool(passed["event"] in ("summarised", "closed") and passed["report"])
        self._next = next(self._events, None)
        return self._next

    def meet(self, name: str, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """An event is about to be written: the fields that shall be. Raises Parted unless it is the one on record, and
        SessionOver where the session on record ended before."""
        expected = self._next
        if expected is not None and expected["event"] == "held_out" != name and not self.judge_is_here:
            self.take_over()  # a judge that is not here said that; and it came before this
            expected = self._next
        if expected is None or (expected["event"] in _BETWEEN_SESSIONS and expected["event"] != name):
            raise SessionOver
        made = {**fields, "event": name}
        if any(expected.get(key) != made.get(key) for key in _WHICH):
            raise Parted(self.unexpected(made))
        written = self._written(name, expected, fields)
        if name not in _UNCOMPARED:
            self._compare(expected, {**written, "event": name})
        self.advance()
        return written

    def take_over(self) -> None:
        """Write the next event as it is on record."""
        assert self._next is not None and self.archive is not None
        expected = self._next
        left_out = {"seq", "t", "event", "config", "certificate"}
        self.archive.add(expected["event"], {key: expected[key] for key in expected if key not in left_out})

    def unexpected(self, made: Mapping[str, Any] | None) -> Parting:
        """The record goes on with another event than `made` (None: with one that nothing here leads to)."""
        expected = self._next or {"event": "nothing more"}
        what = "what became of it differs" if expected.get("generation") is not None else "what came next differs"
        shown = "nothing that leads to it" if made is None else _named(made)
        return Parting(
            generation=expected.get("generation", (made or {}).get("generation")),
            what=what,
            recorded=_named(expected),
            found=shown,
            event=expected["event"],
            seq=expected.get("seq"),
        )

    def _written(self, name: str, expected: Mapping[str, Any], fields: Mapping[str, Any]) -> Mapping[str, Any]:
        if name in _VERDICTS:
            _, evaluation = settled(expected["evaluation"], fields["evaluation"], lenient=self._lenient)
            return {**fields, "evaluation": evaluation}
        if name == "asked" and self.as_recorded:
            return {key: expected[key] for key in expected if key not in ("seq", "t", "event")}
        if name == "held_out" and self._lenient and expected["correct"] == fields["correct"]:
            return {key: expected[key] for key in expected if key not in ("seq", "t", "event")}
        return fields

    def _compare(self, expected: Mapping[str, Any], made: Mapping[str, Any]) -> None:
        before, after = _timeless(expected), _timeless(as_read(made))
        if before != after:
            assert self.archive is not None
            texts = {"text": self._record.archive.text, "made": self.archive.text}
            raise Parted(part_of({**before, "seq": expected["seq"]}, {**after, "seq": expected["seq"]}, **texts))


class CheckedJournal(Journal):
    """A journal whose every event is held against one on record before it is written."""

    def __init__(self, folder: Path, tape: Tape) -> None:
        super().__init__(folder / JOURNAL, write=True)
        self._tape = tape

    def append(self, name: str, fields: Mapping[str, Any]) -> Entry:
        """See Journal.append. Raises Parted and SessionOver, too, and has then written nothing."""
        return super().append(name, self._tape.meet(name, fields))


def _timeless(event: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in event.items() if key not in _OF_THE_CLOCK}
    if "evaluation" in kept:
        evaluation = {key: value for key, value in kept["evaluation"].items() if key != "measured"}
        kept["evaluation"] = evaluation
    return kept


def _named(event: Mapping[str, Any]) -> str:
    """An event in a few words."""
    words = [event["event"]]
    words += [f"{key} {event[key]}" for key in ("generation", "attempt", "key", "programs") if key in event]
    if event["event"] == "refused":
        words.append(f"({event['reason']})")
    return " ".join(words)
