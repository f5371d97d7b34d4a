"""What a process tree uses, read from /proc, and ending every process of it.

Runs in `tree_init`, which is the parent of the tree's first process and adopts every process that loses its own parent.
Processes are found by walking from parent to child, so that the cost grows with the tree and not with the machine.

The kernel keeps a living process's own CPU time and that of the children that it waited for. Children that nobody
waited for (SIGCHLD ignored) are in nobody's account: they count with what they were last seen to have. An ordinary exit
is seen, since `tree_init` is asked first. What is lost is the time between the last look at a process that nobody waits
for and its death by a signal.
"""

import contextlib
import os
import signal
import time
from typing import Final, NamedTuple

_TICK: Final = os.sysconf("SC_CLK_TCK")
_GONE_S: Final = 20.0
"""Seconds that killed processes may take to be gone."""
_ORDINARY: Final = 64
"""Descriptors of a program that do not count as memory."""
_BUFFER_KB: Final = 208  # of a socket, unless the machine is set up otherwise
_PRIVATE: Final = (b"RssAnon:", b"RssFile:", b"VmPTE:", b"VmSwap:")
_SHARED: Final = b"RssShmem:"
_PROPORTIONAL: Final = (b"Pss_Anon:", b"Pss_File:", b"SwapPss:")
_PROPORTIONAL_SHARED: Final = b"Pss_Shmem:"


class Sample(NamedTuple):
    """A process when it was last seen. `started` (ticks since boot) tells it from a later process of the same number;
    `waited_s` is the CPU time of the children that it waited for."""

    parent: int
    started: int
    own_s: float
    waited_s: float
    threads: int = 1
    zombie: bool = False


class Account:
    """The CPU seconds of one tree, ended processes included: arithmetic on what was read. `root` is the process id of
    `tree_init`, whose own time does not count."""

    def __init__(self, root: int) -> None:
        self._root = root
        self.seen: dict[int, Sample] = {}
        self._due: dict[int, float] = {root: 0.0}  # by heir: what ended children had when they were last seen
        self._surplus: dict[int, float] = {}  # by process collected since the last look: time not known before

    def note(self, process: int, sample: Sample) -> None:
        """Record a process that exists, alive or a zombie."""
        self.seen[process] = sample

    def collected(self, process: int, cpu_s: float) -> None:
        """Record a process that `tree_init` waited for. `cpu_s` is the kernel's account of it and of its own waits."""
        sample = self.seen.pop(process, None)
        known = 0.0 if sample is None else self._total(process, sample)
        self._due.pop(process, None)
        self._due[self._root] += max(cpu_s, known)
        self._surplus[process] = max(0.0, cpu_s - known)

    def vanished(self, processes: set[int]) -> None:
        """Record processes that have gone, and that `tree_init` did not wait for."""
        gone = {process: self.seen.pop(process) for process in processes}
        totals = {process: self._total(process, sample) for process, sample in gone.items()}
        for process in gone:
            self._due.pop(process, None)
        for process, sample in gone.items():
            heir, passed = sample.parent, {process}
            while heir in gone and heir not in passed:
                passed.add(heir)
                heir = gone[heir].parent
            total = totals[process]
            if heir in self._surplus:  # it may have waited for this one before it was collected
                counted = min(total, self._surplus[heir])
                self._surplus[heir] -= counted
                total -= counted
            heir = heir if heir in self.seen else self._root
            self._due[heir] = self._due.get(heir, 0.0) + total

    def looked(self) -> None:
        """Record the end of a look: no process that went before it is unrecorded."""
        self._surplus.clear()

    def cpu_s(self) -> float:
        """The CPU seconds of the tree so far."""
        return self._due[self._root] + sum(self._total(process, sample) for process, sample in self.seen.items())

    def _total(self, process: int, sample: Sample) -> float:
        return sample.own_s + max(sample.waited_s, self._due.get(process, 0.0))


class Tree:
    """The processes below this one, through a descriptor of /proc, which need not be mounted any more."""

    def __init__(self, proc: int) -> None:
        self._proc = proc
        self._root = os.getpid()
        self.account = Account(self._root)
        self.main = 0  # the first process, set by its maker
        self.status: int | None = None  # its wait status, once it has ended
        self.tasks = 1
        self.largest = 0  # bytes that one process had resident at most, of those that were collected

    def look(self) -> None:
        """Read the CPU time of every process; `tasks` is the number of living processes and threads."""
        self.reap()
        living = self._walk()
        seen = self.account.seen
        gone = {process for process in living.keys() & seen.keys() if living[process].started != seen[process].started}
        for process in seen.keys() - living.keys():  # a walk may miss one whose sibling ends meanwhile
            sample = self.sample(process)
            if sample is None or sample.started != seen[process].started:
                gone.add(process)
            else:
                living[process] = sample
        self.account.vanished(gone)
        self.account.looked()
        for process, sample in living.items():
            self.account.note(process, sample)
        self.tasks = sum(sample.threads for sample in living.values() if not sample.zombie)

    def about_to_end(self, thread: int) -> None:
        """Record the process of a thread that waits for permission to end it, and which processes below it have gone:
        it waited for them, and what is read of it holds their time."""
        if thread not in self.account.seen:
            thread = int(_field(self._read(f"{thread}/status"), b"Tgid:"))
        sample = self.sample(thread)
        if sample is not None:
            self.account.note(thread, sample)
            self.account.vanished(self._gone_below(thread))

    def _gone_below(self, process: int) -> set[int]:
        """The processes that have gone, of those that were seen, down to the first one of each branch that lives."""
        gone: set[int] = set()
        parents = {process}
        while parents:
            children = {child: seen for child, seen in self.account.seen.items() if seen.parent in parents}
            parents = {child for child, seen in children.items() if not self._exists(child, seen)} - gone
            gone |= parents
        return gone

    def reap(self) -> bool:
        """Collect the children of this process that have ended; whether there are others."""
        while True:
            try:
                process, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if process == 0:
                return True
            if process == self.main:
                self.status = status
            self.account.collected(process, usage.ru_utime + usage.ru_stime)
            self.largest = max(self.largest, usage.ru_maxrss << 10)

    def end(self) -> None:
        """Kill all processes and wait until they are gone; no new one may start meanwhile. Raises TimeoutError."""
        deadline = time.monotonic() + _GONE_S
        self.look()
        while self.reap():
            for process, sample in self._walk().items():
                if not sample.zombie:
                    self._kill(process, sample)
            if time.monotonic() > deadline:
                raise TimeoutError(f"processes that were killed are still there after {_GONE_S:g} s")
            time.sleep(0.001)
        self.look()

    def memory(self, *, exact: bool = False) -> tuple[int, int]:
        """(bytes of private memory and files, bytes of shared memory). Memory that two processes share counts for each;
        `exact`: once, where that can be read, which is slow. Many open descriptors count too: the kernel holds what was
        written into a pipe or a socket and not read."""
        private = shared = 0
        for process, sample in self.account.seen.items():
            if sample.zombie:
                continue
            status = self._read(f"{process}/status")
            rollup = self._read(f"{process}/smaps_rollup") if exact else b""
            private += self._buffers(process)
            if rollup:
                private += sum(_field(rollup, name) for name in _PROPORTIONAL) + _field(status, b"VmPTE:")
                shared += _field(rollup, _PROPORTIONAL_SHARED)
            else:
                private += sum(_field(status, name) for name in _PRIVATE)
                shared += _field(status, _SHARED)
        return private << 10, shared << 10

    def _buffers(self, process: int) -> int:
        """KiB that the descriptors of a process may hold, without the ordinary ones."""
        with contextlib.suppress(OSError):  # gone; a kernel before 6.2 says 0
            return max(0, os.stat(f"{process}/fd", dir_fd=self._proc).st_size - _ORDINARY) * _BUFFER_KB
        return 0

    def unnamed_bytes(self, folder: str) -> tuple[int, bool]:
        """(bytes of open files of a folder without a name, whether there are more of unknown size: mapped but not open,
        or of a process that cannot be read)."""
        sizes: dict[int, int] = {}
        mapped: set[int] = set()
        unknown = False
        start = os.fsencode(folder) + b"/"
        for process, sample in self.account.seen.items():
            if sample.zombie:
                continue
            try:
                sizes.update(self._open_unnamed(process, start))
            except PermissionError:  # it hides, or is just ending and has no memory any more
                unknown = unknown or b"\nVmRSS:" in self._read(f"{process}/status")
            except OSError:
                continue
            for line in self._read(f"{process}/maps").splitlines():
                fields = line.split(maxsplit=5)
                if len(fields) == 6 and fields[5].startswith(start) and fields[5].endswith(b" (deleted)"):
                    mapped.add(int(fields[4]))
        return sum(sizes.values()), unknown or not mapped <= sizes.keys()

    def _open_unnamed(self, process: int, start: bytes) -> dict[int, int]:
        """Inodes and bytes of such files that a process has open. Raises OSError."""
        sizes: dict[int, int] = {}
        for name in self._list(f"{process}/fd"):
            path = f"{process}/fd/{name}"
            with contextlib.suppress(FileNotFoundError):
                target = os.fsencode(os.readlink(path, dir_fd=self._proc))
                if target.startswith(start) and target.endswith(b" (deleted)"):
                    file = os.stat(path, dir_fd=self._proc)
                    sizes[file.st_ino] = file.st_blocks * 512
        return sizes

    def _lives(self, process: int, sample: Sample) -> bool:
        now = self.sample(process)
        return now is not None and now.started == sample.started and not now.zombie

    def _exists(self, process: int, sample: Sample) -> bool:
        now = self.sample(process)
        return now is not None and now.started == sample.started

    def _walk(self) -> dict[int, Sample]:
        samples: dict[int, Sample] = {}
        waiting = self._children(self._root, 1)
        while waiting:
            process = waiting.pop()
            sample = None if process in samples else self.sample(process)
            if sample is not None:
                samples[process] = sample
                if not sample.zombie:
                    waiting += self._children(process, sample.threads)
        return samples

    def _kill(self, process: int, sample: Sample) -> None:
        with contextlib.suppress(OSError):  # gone already
            pidfd = os.pidfd_open(process)
            try:
                if self._lives(process, sample):  # else the descriptor is of a later process of that number
                    signal.pidfd_send_signal(pidfd, signal.SIGKILL)
            finally:
                os.close(pidfd)

    def sample(self, process: int) -> Sample | None:
        """A process as it is now; None when there is none of that number."""
        text = self._read(f"{process}/stat")
        if not text:
            return None
        fields = text[text.rindex(b")") + 2 :].split()
        own = (int(fields[11]) + int(fields[12])) / _TICK
        with contextlib.suppress(OSError):
            own = time.clock_gettime((~process << 3) | 2)
        return Sample(
            parent=int(fields[1]),
            started=int(fields[19]),
            own_s=own,
            waited_s=(int(fields[13]) + int(fields[14])) / _TICK,
            threads=int(fields[17]),
            zombie=fields[0] in (b"Z", b"X"),
        )

    def _children(self, process: int, threads: int) -> list[int]:
        names = [str(process)]
        if threads > 1:
            with contextlib.suppress(OSError):
                names = self._list(f"{process}/task")
        return [int(child) for name in names for child in self._read(f"{process}/task/{name}/children").split()]

    def _read(self, path: str) -> bytes:
        """The content of a file of /proc; empty where it, or its process, has gone."""
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
        except OSError:
            return b""
        chunks: list[bytes] = []
        try:
            while chunk := os.read(file, 1 << 16):
                chunks.append(chunk)
        except OSError:
            return b""
        finally:
            os.close(file)
        return b"".join(chunks)

    def _list(self, path: str) -> list[str]:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._proc)
        try:
            return os.listdir(folder)  # noqa: PTH208 (of a descriptor)
        finally:
            os.close(folder)


def _field(text: bytes, name: bytes) -> int:
    """The number after a name at the beginning of a line; 0 where there is no such line."""
    words = (b"\n" + text).partition(b"\n" + name)[2].split(maxsplit=1)
    return int(words[0]) if words else 0
