"""The memory and the descriptors of this machine that the workers of an evaluator need."""

import contextlib
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from evaluator.errors import SandboxError

_DESCRIPTORS: Final = 64
_DESCRIPTORS_PER_WORKER: Final = 16
"""Sockets, pipes and process descriptors of the harness, for both pools, with a reserve."""


def ensure_descriptors(workers: int) -> None:
    """Let this process open as many files as its workers need. Raises SandboxError that says what to do."""
    needed = _DESCRIPTORS + _DESCRIPTORS_PER_WORKER * workers
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise SandboxError(
            f"this process may hold {hard} files open at a time, and {workers} worker(s) need {needed}: raise the "
            "limit of the shell that starts evolve (ulimit -n 1024), as root if it refuses"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def memory_shortage(workers: int, memory_mb: int) -> str:
    """A warning when the workers, each at its limit, would need more memory than is free; else empty."""
    free = free_memory_mb()
    if free is None or workers * memory_mb <= free:
        return ""
    return (
        f"{workers} worker(s) may take {memory_mb} MB each, and {free:,} MB are free: where memory runs out, the "
        "kernel ends candidates, and they have to run again. Fewer workers are safer (--set workers=N)"
    )


def free_memory_mb(root: Path = Path("/")) -> int | None:
    """MB that the machine, or this process's cgroup, has left, the lesser of both; None where unknown. `root` is the
    folder of /proc and /sys."""
    left = [*_available(root), *_left_of_cgroups(root)]
    return min(left) >> 20 if left else None


def _available(root: Path) -> Iterator[int]:
    with contextlib.suppress(OSError, ValueError):
        for line in (root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) << 10


def _left_of_cgroups(root: Path) -> Iterator[int]:
    """Bytes that each cgroup of this process has left, of either version; droppable pages count as left."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        mount = root / ("sys/fs/cgroup/memory" if controllers else "sys/fs/cgroup")
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if controllers else ("memory.max", "memory.current")
        own = mount / path.lstrip("/")
        for folder in (own, *own.parents):
            if folder.is_relative_to(mount):
                with contextlib.suppress(OSError, ValueError):  # no limit is the word "max", or no file
                    limit, used = (int((folder / name).read_text()) for name in names)
                    yield limit - used + _droppable(folder)


def _droppable(folder: Path) -> int:
    fields = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    return int(fields.get("total_inactive_file", fields.get("inactive_file", 0)))
