"""The CPU seconds of a process tree, whoever of it is gone included: pure arithmetic on what was read.

A living process has its own time and that of the children that it waited for, as the kernel keeps it. Children that
nobody waited for (SIGCHLD ignored) are in nobody's account: they count with what they were last seen to have. An
ordinary exit is seen, since it is put to `tree_init` first; what is lost is the time between the last look at a process
that nobody waits for and its death by a signal.
"""

from typing import NamedTuple


class Sample(NamedTuple):
    """A process when it was last seen. `started` is in ticks since boot and tells it from a later one of its number;
    `waited_s` is of the children that it waited for."""

    parent: int
    started: int
    own_s: float
    waited_s: float
    threads: int = 1
    zombie: bool = False


class Account:
    """Of one tree. `root` is the process id of `tree_init`, whose own time does not count."""

    def __init__(self, root: int) -> None:
        self._root = root
        self.seen: dict[int, Sample] = {}
        self._due: dict[int, float] = {root: 0.0}  # by heir: what gone children had when they were last seen
        self._surplus: dict[int, float] = {}  # of those collected since the last look: what was not known of before

    def note(self, process: int, sample: Sample) -> None:
        """One that is there, alive or a zombie."""
        self.seen[process] = sample

    def collected(self, process: int, cpu_s: float) -> None:
        """One that `tree_init` waited for: the kernel's account of it, and of whomever it waited for."""
        sample = self.seen.pop(process, None)
        known = 0.0 if sample is None else self._total(process, sample)
        self._due.pop(process, None)
        self._due[self._root] += max(cpu_s, known)
        self._surplus[process] = max(0.0, cpu_s - known)

    def vanished(self, processes: set[int]) -> None:
        """All that were there at the last look and are gone, and that `tree_init` did not wait for."""
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
        self._surplus.clear()

    def cpu_s(self) -> float:
        """All of it so far."""
        return self._due[self._root] + sum(self._total(process, sample) for process, sample in self.seen.items())

    def _total(self, process: int, sample: Sample) -> float:
        return sample.own_s + max(sample.waited_s, self._due.get(process, 0.0))
