"""The runs of a folder, each read by one reader that is kept open and follows what others append.

What goes wrong with one run (a damaged journal, a folder that was moved) is an EvolveError for whoever asks about that
run, each time until its journal is another one; nobody else notices.
"""

import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from evolve.archive.journal import is_held
from evolve.archive.layout import JOURNAL
from evolve.archive.reader import RunReader
from evolve.core.errors import ArchiveError, EvolveError
from evolve.review.generation_view import COLUMNS, GenerationReader, GenerationView
from evolve.review.runs import known_runs


class GatheredViews:
    """Those of one archive. They are made a slice at a time, so that whoever else waits for the archive has a turn."""

    def __init__(self) -> None:
        self._views: dict[int, GenerationView] = {}
        self._missing: set[int] = set()
        self._events = 0

    def gather(self, archive: RunReader, most: int) -> bool:
        """Make up to `most` of those that are missing, or that an event was about since; whether all are there."""
        self._missing.update(archive.timeline.touched(self._events))
        self._events = archive.timeline.events
        some = list(islice(self._missing, most))
        for view in GenerationReader(archive).views(some):
            view.to_json(COLUMNS)  # the work is done now: what takes long stays with the view
            self._views[view.generation] = view
        self._missing.difference_update(some)
        return not self._missing

    @property
    def all(self) -> Sequence[GenerationView]:
        """Those that are there, lowest generation first."""
        return [self._views[number] for number in sorted(self._views)]


MOST_OPEN: Final = 32
"""So many runs are kept open: each takes a few descriptors, and memory by its length."""
_SLICE: Final = 100
"""Views of so many generations are made before others who ask about the run have their turn."""
_TURN_S: Final = 0.001
_T = TypeVar("_T")
_Mark = tuple[int, int, int]
"""Which file a journal is, how long, and when it was last written."""


def mark_of(journal: Path) -> _Mark | None:
    """What tells whether anything was written; None where there is no file."""
    try:
        found = os.lstat(journal)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


class FollowedRun:
    """One run and its reader. Threads may share it: one reads at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._journal = folder / JOURNAL
        self._lock = threading.Lock()
        self._archive: RunReader | None = None
        self._mark: _Mark | None = None
        self._failure: EvolveError | None = None
        self._opening = ""
        self._version = ""
        self._gathered = GatheredViews()
        self._documents: dict[str, tuple[str, str]] = {}

    def ask(self, question: Callable[[RunReader], _T]) -> _T:
        """The answer to a question about the run as it is on record now. Raises EvolveError where it cannot be read."""
        with self._lock:
            return question(self._current())

    def news(self, since: str, answer: Callable[[RunReader, int | None], _T]) -> tuple[str, _T | None]:
        """The version of the run now, and what `answer` makes of what came after so many events, those of the version
        `since`; None where that cannot be told, as the reader was opened anew. None when nothing has changed. Raises
        EvolveError where the run cannot be read."""
        with self._lock:
            archive = self._current()
            if since == self._version:
                return since, None
            opening, _, events = since.split("-", 2) if since.count("-") == 2 else ("", "", "")
            known = opening == self._opening and events.isascii() and events.isdigit()
            return self._version, answer(archive, int(events[:18]) if known else None)

    def version(self) -> str:
        """The version of the run now, which `news` begins from. Raises EvolveError where it cannot be read."""
        return self.ask(lambda _: self._version)

    def document(self, kind: str, make: Callable[[RunReader, Sequence[GenerationView], str], str]) -> tuple[str, str]:
        """The version of the run now, and what `make` makes of the whole run, the views of all its generations, and
        that version: made once for each version and `kind`. Others are answered while these are gathered. Raises
        EvolveError where the run cannot be read."""
        while True:
            with self._lock:
                archive = self._current()
                if self._documents.get(kind, ("",))[0] == self._version:
                    return self._documents[kind]
                if self._gathered.gather(archive, _SLICE):
                    made = make(archive, self._gathered.all, self._version)
                    self._documents[kind] = self._version, made
                    return self._documents[kind]
            time.sleep(_TURN_S)

    def close(self) -> None:
        """Close its files; asked again, it opens them again."""
        with self._lock:
            self._drop()

    def _current(self) -> RunReader:
        if self.folder.is_symlink():  # it was none when it was found: whatever it leads to is no run of this folder
            self._drop()
            raise ArchiveError(f"{self.folder} is a link now, and nothing outside of the folder of runs is shown")
        mark = mark_of(self._journal)
        if self._failure is not None:
            if mark == self._mark:
                raise self._failure
            self._failure = None
        try:
            if self._archive is not None and mark != self._mark:
                self._follow(self._archive)
            if self._archive is None:
                self._open()
        except EvolveError as failure:
            self._drop()
            self._failure = failure
            raise
        finally:
            self._mark = mark
        assert self._archive is not None
        held = "written" if self._archive.running else "still"
        self._version = f"{self._opening}-{held}-{self._archive.timeline.events}"
        return self._archive

    def _open(self) -> None:
        self._archive = RunReader.open(self.folder)
        self._opening = secrets.token_hex(4)

    def _follow(self, archive: RunReader) -> None:
        # Appended to, it is longer. Written since and as long as before, it was changed where it had been read. (Looked
        # at once more: between a writer's change of the time and of the length there is a moment.)
        if (now := mark_of(self._journal)) is not None and self._mark is not None and now[:2] == self._mark[:2]:
            self._drop()
            return
        try:
            archive.more()
        except ArchiveError:  # another journal, a shorter one or a damaged one: opening it anew says which
            self._drop()

    def _drop(self) -> None:
        if self._archive is not None:
            self._archive.close()
            self._archive, self._gathered, self._documents = None, GatheredViews(), {}


class FollowedRuns:
    """The runs in a folder, by name. Threads may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._runs: dict[str, FollowedRun] = {}
        self._used: OrderedDict[str, None] = OrderedDict()
        self._answers: dict[str, tuple[tuple[_Mark | None, bool], Any]] = {}

    def names(self) -> list[str]:
        """The names of the runs that are there now. A link is no run: nothing outside of the folder is shown."""
        return [name for name in known_runs(self.folder) if not (self.folder / name).is_symlink()]

    def run(self, name: str) -> FollowedRun:
        """The run of that name. Raises KeyError for what is none, and never was while this was watching."""
        with self._lock:
            if name not in self._runs:
                if name not in self.names():
                    raise KeyError(name)
                self._runs[name] = FollowedRun(self.folder / name)
            self._used[name] = None
            self._used.move_to_end(name)
            surplus = [self._runs[self._used.popitem(last=False)[0]] for _ in range(len(self._used) - MOST_OPEN)]
            found = self._runs[name]
        for run in surplus:
            run.close()
        return found

    def of_each(self, question: Callable[[str, RunReader], _T]) -> tuple[list[_T], list[tuple[str, EvolveError]]]:
        """The answer of each run that is there to a question, which must always be the same one; and what went wrong
        with those that cannot be read. A run that nobody has written since is not asked again."""
        answers, failures, names = [], [], self.names()
        with self._lock:
            known = self._answers = {name: self._answers[name] for name in names if name in self._answers}
        for name in names:
            journal = self.folder / name / JOURNAL
            now = mark_of(journal), is_held(journal)
            try:
                kept = known.get(name)
                if kept is None or kept[0] != now:
                    kept = now, self.run(name).ask(partial(question, name))
                    with self._lock:
                        self._answers[name] = kept
                answers.append(kept[1])
            except EvolveError as failure:
                failures.append((name, failure))
            except KeyError:  # it went away meanwhile
                continue
        return answers, failures

    def close(self) -> None:
        """Close all files."""
        for run in list(self._runs.values()):
            run.close()
