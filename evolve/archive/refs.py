"""The refs of `programs.git`: derived from the journal, written one file each, repaired on opening.

Each is written beside and renamed into place, under the name that git itself takes as a ref's lock (measured: 0.1 ms
a ref; a `git update-ref --stdin` kept running: 0.12 ms, and a process to look after). They are not synced: what a
crash takes away, the next opening for writing puts back.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from evolve.archive.disk import using, write_all, write_file
from evolve.archive.plain import MAX_PACKED_REFS, MAX_REF, open_plain, read_plain

BEST = "refs/heads/best"
ATTEMPTS = "refs/evolve/attempts"
_OWN = ("refs/tags/gen", "refs/heads/island", BEST, ATTEMPTS)
"""The names that are ours, each a ref or a folder of refs; all others are left alone."""


def tag(generation: int) -> str:
    """The ref of a generation's program."""
    return f"refs/tags/gen/{generation}"


def island_branch(island: int) -> str:
    """The ref of an island's best program."""
    return f"refs/heads/island/{island}"


class Refs:
    """The refs of one bare repository."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository
        self._packed = repository / "packed-refs"

    def read(self) -> dict[str, str]:
        """Our refs, as git would find them: a ref's own file counts before `packed-refs`."""
        found = {}
        with using(self._repository / "refs", "read"):
            if self._packed.exists():
                for line in self._packed_text().splitlines():
                    commit, _, name = line.partition(" ")
                    if _is_own(name):
                        found[name] = commit
            for name in self._loose():
                found[name] = read_plain(f"{self._repository}/{name}", MAX_REF).decode("utf-8", "replace").strip()
        return found

    def write(self, name: str, commit: str) -> None:
        """Point a ref at a commit. Raises MachineError."""
        path = str(self._repository / name)
        with using(self._repository / name, "written"):
            # No O_EXCL: one writer holds the run's lock, so a lock file found here was left by one that was killed.
            try:
                descriptor = open_plain(path + ".lock", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            except FileNotFoundError:
                os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
                descriptor = open_plain(path + ".lock", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            try:
                write_all(descriptor, commit.encode("ascii") + b"\n")
            finally:
                os.close(descriptor)
            os.rename(path + ".lock", path)  # noqa: PTH104

    def repair(self, expected: Mapping[str, str]) -> None:
        """Make our refs equal to `expected`, whatever was found. Raises MachineError."""
        present = self.read()
        for name, commit in expected.items():
            if present.get(name) != commit:
                self.write(name, commit)
        surplus = present.keys() - expected.keys()
        if not surplus:
            return
        with using(self._packed, "written"):
            if self._packed.exists():
                lines = self._packed_text().splitlines(keepends=True)
                kept = "".join(line for line in lines if line.strip().partition(" ")[2] not in surplus)
                lock = self._packed.with_name("packed-refs.lock")
                lock.unlink(missing_ok=True)
                write_file(lock, kept.encode("utf-8", "surrogateescape"))
                lock.replace(self._packed)
            for name in surplus:
                (self._repository / name).unlink(missing_ok=True)

    def _packed_text(self) -> str:
        return read_plain(self._packed, MAX_PACKED_REFS).decode("utf-8", "surrogateescape")

    def _loose(self) -> list[str]:
        names = []
        for own in _OWN:
            path = self._repository / own
            if path.is_file():
                names.append(own)
            elif path.is_dir():
                names += [f"{own}/{name}" for name in os.listdir(path) if not name.endswith(".lock")]  # noqa: PTH208
        return names


def _is_own(name: str) -> bool:
    return any(name == own or name.startswith(own + "/") for own in _OWN)
