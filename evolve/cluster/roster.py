"""The workers of a cluster, as the head knows them: who may get a program, and who not any more.

No clock, no thread and no I/O: the head gives it what the broker saw, and asks what to do.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from evaluator.remote import WorkerActivity, WorkerReport, WorkerState
from evaluator.sandbox.layers import LEVELS
from evaluator.untrusted import one_line
from evolve.cluster.describing import refusal
from evolve.cluster.frames import LONGEST_NAME, SeenWorker, short_name

_LIVE: Final = frozenset({WorkerActivity.NEW, WorkerActivity.OPENING, WorkerActivity.IDLE, WorkerActivity.BUSY})
_READY: Final = frozenset({WorkerActivity.IDLE, WorkerActivity.BUSY})
_MOST_GONE: Final = 1000


@dataclass(slots=True)
class Member:
    """One worker at one address. `machine` is the network address of its host."""

    address: str
    name: str
    machine: str
    host: str
    activity: WorkerActivity = WorkerActivity.NEW
    level: str = ""
    why: str = ""
    done: int = 0
    since: float | None = None  # monotonic seconds at its first evaluation
    report: WorkerReport | None = None
    calls: set[int] = field(default_factory=set)

    @property
    def is_ready(self) -> bool:
        """Whether the head has accepted it, and it is there."""
        return self.activity in _READY

    def is_named(self, names: frozenset[str]) -> bool:
        """Whether one of the names is its own or its host's."""
        return not names.isdisjoint((self.name, self.host))


class Roster:
    """All workers so far, by address."""

    def __init__(self, head: WorkerReport, level: str, silence_s: float) -> None:
        """`level` is the lowest accepted one; a worker without a heartbeat for `silence_s` seconds is lost."""
        self._head, self._level, self._silence_s = head, level, silence_s
        self._members: dict[str, Member] = {}
        self._expelled: dict[str, str] = {}

    def see(self, workers: Sequence[SeenWorker]) -> set[int]:
        """These workers are there, and no others; the calls that are lost."""
        heard = {worker.address: worker for worker in workers if worker.silent_s <= self._silence_s}
        silent = {worker.address for worker in workers} - heard.keys()
        lost = set[int]()
        for address, member in self._members.items():
            if address not in heard and member.activity in _LIVE:
                why = f"it was silent for {self._silence_s:g} s" if address in silent else "it ended, or was retired"
                lost |= self.lose(member, why)
        for address, worker in heard.items():
            known = self._members.get(address)
            if known is None or known.activity is WorkerActivity.LOST:
                self._join(worker)
        self._forget(heard.keys())
        return lost

    def _forget(self, heard: Collection[str]) -> None:
        """Keep the last of those that are gone only: others may join and leave again for ever."""
        gone = [address for address, m in self._members.items() if m.activity not in _LIVE and address not in heard]
        for address in gone[:-_MOST_GONE]:
            del self._members[address]

    def _join(self, worker: SeenWorker) -> None:
        name, host = one_line(worker.name, LONGEST_NAME + 1), short_name(worker.host)
        member = Member(address=worker.address, name=name, machine=host, host=host)
        for address, other in [*self._members.items()]:
            if other.name == name and other.activity is WorkerActivity.LOST:
                member.done += other.done
                member.since = other.since
                del self._members[address]
        if name in self._expelled:
            member.activity, member.why = WorkerActivity.EXPELLED, self._expelled[name]
        self._members[worker.address] = member

    def lose(self, member: Member, why: str) -> set[int]:
        """This worker is gone; the calls that it had."""
        member.activity, member.why = WorkerActivity.LOST, why
        calls, member.calls = member.calls, set()
        return calls

    def lose_all(self, why: str) -> set[int]:
        """Nobody can be reached; all calls."""
        calls = [self.lose(member, why) for member in self._members.values() if member.activity in _LIVE]
        return set[int]().union(*calls)

    def to_open(self) -> Iterator[Member]:
        """The workers that may be asked for their report now, one of each machine: they calibrate."""
        busy = {m.machine for m in self._members.values() if m.activity is WorkerActivity.OPENING}
        for member in self._members.values():
            if member.activity is WorkerActivity.NEW and member.machine not in busy:
                busy.add(member.machine)
                yield member

    def open(self, member: Member, call: int) -> None:
        """A worker is asked for its report."""
        member.activity = WorkerActivity.OPENING
        member.calls.add(call)

    def opened(self, member: Member, report: WorkerReport) -> None:
        """The report of a worker that was opening."""
        if member.activity is not WorkerActivity.OPENING:  # expelled in the meantime
            return
        member.level, member.host = (report.level if report.level in LEVELS else ""), short_name(report.host)
        member.report, why = report, refusal(report, self._head, self._level)
        member.activity, member.why = (WorkerActivity.REFUSED if why else WorkerActivity.IDLE), why

    def refuse(self, member: Member, why: str) -> None:
        """A worker gives no report."""
        member.activity, member.why = WorkerActivity.REFUSED, why

    def expel(self, name: str, why: str) -> None:
        """The worker of this name gets nothing more to do, now and when it comes again."""
        self._expelled[name] = why
        for member in self._members.values():
            if member.name == name and member.activity is not WorkerActivity.LOST:
                member.activity, member.why = WorkerActivity.EXPELLED, why

    def pick(self, avoid: frozenset[str], only: str | None) -> Member | None:
        """An idle worker: `only` that one, or one that is not to be avoided, unless there is no other."""
        ready = [m for m in self._members.values() if m.is_ready and (only is None or m.is_named(frozenset({only})))]
        wanted = [member for member in ready if not member.is_named(avoid)] or ready
        idle = [member for member in wanted if member.activity is WorkerActivity.IDLE]
        return min(idle, key=lambda member: (member.done, member.name), default=None)

    def has(self, only: str | None) -> bool:
        """Whether a worker is there that may get a program, now or once it has reported (`only` that one)."""
        return any(
            member.activity in _LIVE and (only is None or member.is_named(frozenset({only})))
            for member in self._members.values()
        )

    def start(self, member: Member, call: int, now: float) -> None:
        """An evaluation begins."""
        member.activity = WorkerActivity.BUSY
        member.calls.add(call)
        member.since = now if member.since is None else member.since

    def end(self, member: Member, call: int) -> None:
        """A call ended, with or without a result."""
        member.calls.discard(call)
        if member.activity is WorkerActivity.BUSY:
            member.activity, member.done = WorkerActivity.IDLE, member.done + 1

    def why_none(self) -> str:
        """Why no worker is there, in words."""
        return "; ".join(f"{m.name} on {m.host}: {m.activity.value}, {m.why}" for m in self._members.values() if m.why)

    def states(self, now: float) -> tuple[WorkerState, ...]:
        """All of them, by name."""
        return tuple(
            WorkerState(
                name=member.name,
                host=member.host,
                level=member.level,
                state=member.activity,
                why=member.why,
                done=member.done,
                per_minute=0.0 if member.since is None else 60 * member.done / max(1.0, now - member.since),
                report=member.report,
            )
            for member in sorted(self._members.values(), key=lambda member: member.name)
        )
