"""The head's side of a cluster: it sends programs to workers, through the broker, and waits for their reports.

    with open_remote(read_address("dask:local:4"), task, suite, control=program, level="strong") as remote:
        reported = remote.run(program)

Each call goes to one worker. One that dies, hangs or sends what cannot be is lost, and so is its call: WorkerLost.
"""

import itertools
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Final, Self

from evaluator.errors import HarnessError
from evaluator.pairs import ORDINARY
from evaluator.program_files import Files
from evaluator.recording import RecordingMismatch
from evaluator.remote import ConnectionLost, Reported, WorkerActivity, WorkerLost, WorkerReport, WorkerState
from evaluator.repository_task import Repository
from evaluator.sandbox.turns import SLICE_S, Cancellation
from evaluator.task import Suite, Task
from evaluator.untrusted import one_line
from evolve.cluster.confinement import environment
from evolve.cluster.describing import describe
from evolve.cluster.engine import is_loopback
from evolve.cluster.extra import require_dask
from evolve.cluster.frames import (
    CallEnded,
    CallLost,
    CallOdd,
    Cancel,
    FrameError,
    FromBroker,
    Submit,
    ToBroker,
    Workers,
    framed,
    from_broker,
    read_frame,
)
from evolve.cluster.local import LocalCluster
from evolve.cluster.packing import digest_of, pack
from evolve.cluster.roster import Member, Roster
from evolve.cluster.serving import EVALUATE, OPEN, Opening, ProgramToRun
from evolve.core.clusters import ClusterAddress
from evolve.core.invocation import anywhere

_CLOSING_S: Final = 5.0
_PAUSE_S: Final = 1.0
_BUILDS_AND_TESTS: Final = 3
"""Commands of a repository's program: its build and that of the unchanged code, and its tests."""


class OpenScheduler(UserWarning):
    """The warning: a scheduler listens to other machines without TLS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long the head waits, in seconds: for a heartbeat of a worker, for a word of the broker, for the end of an
    evaluation, for a worker's first report, and for a worker or a scheduler where there is none."""

    silence_s: float = 60.0
    broker_s: float = 60.0
    evaluation_s: float
    opening_s: float = 120.0
    none_s: float = 60.0

    @classmethod
    def for_suite(cls, suite: Suite, repository: Repository | None = None) -> Self:
        """The patience for a suite: three tries of a program at its limit, and a minute. The limit of a repository is
        that of each of its commands."""
        limit_s = suite.limits.wall_total_s
        if repository is None:
            return cls(evaluation_s=3 * limit_s + 60)
        runs = _BUILDS_AND_TESTS + 2 * ORDINARY * repository.repeats
        return cls(evaluation_s=runs * limit_s + 60, opening_s=(_BUILDS_AND_TESTS + repository.repeats) * limit_s + 60)


@dataclass(slots=True)
class _WorkerCall:
    """A call under way. `ended` is what the broker says of it, or why it is lost."""

    member: Member
    deadline: float
    opens: bool = False
    ended: CallEnded | CallOdd | WorkerLost | None = None


class _BrokerProcess:
    """A broker, while it runs. Nothing here waits for it but `receive` and `close`: what others sent may hold it."""

    def __init__(self, address: str) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `close`)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "evolve.cluster.broker", address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment(),
            start_new_session=True,
        )
        self._killed_for = ""
        self._outbox: SimpleQueue[bytes | None] = SimpleQueue()
        threading.Thread(target=self._write, name="to the broker", daemon=True).start()
        self.process_id = self._process.pid

    def _write(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError), self._process.stdin as stream:  # it has ended, which the reader notices
            while (frame := self._outbox.get()) is not None:
                stream.write(frame)
                stream.flush()

    def send(self, message: ToBroker) -> None:
        """Send a message; nothing where the broker has ended, which the reader notices."""
        self._outbox.put(framed(message))

    def receive(self) -> FromBroker | None:
        """Its next message; None once it has ended. Raises FrameError."""
        assert self._process.stdout is not None
        payload = read_frame(self._process.stdout)
        return None if payload is None else from_broker(payload)

    def kill(self, why: str) -> None:
        """End it; the reader notices."""
        self._killed_for = why
        self._process.kill()

    def end_input(self) -> None:
        """Ask it to end; the reader notices."""
        self._outbox.put(None)

    def close(self) -> str:
        """End it; the last that it said, or why it was killed. Only for the reader."""
        self.end_input()
        try:
            self._process.wait(_CLOSING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._errors.seek(0)
        said = self._errors.read()[-2000:].decode(errors="replace").strip()
        self._errors.close()
        return one_line(said.rpartition("\n")[2], 300) or self._killed_for


class ClusterRemote:
    """Workers behind a scheduler. See `evaluator.remote.Remote`."""

    def __init__(self, address: str, opening: Opening, head: WorkerReport, *, level: str, patience: Patience) -> None:
        """`opening` is what each worker gets first; `head` is compared with its report."""
        self.level = level
        self._address = address
        self._opening, self._digest = opening.to_json(), opening.digest
        self._suite = opening.suite
        self._patience = patience
        self._cancellation = Cancellation()
        self._changed = threading.Condition()
        self._roster = Roster(head, level, patience.silence_s)
        self._calls: dict[int, _WorkerCall] = {}
        self._numbers = itertools.count(1)
        self._broken = ""
        self._heard = time.monotonic()  # when the broker said something, or began
        self._closing = threading.Event()
        self._broker = _BrokerProcess(address)
        self._reading = threading.Thread(target=self._read, name="broker", daemon=True)
        self._reading.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def broker_process_id(self) -> int:
        """The process id of the broker."""
        return self._broker.process_id

    def run(self, program: Files, *, avoid: frozenset[str] = frozenset(), only: str | None = None) -> Reported:
        """See Remote."""
        job = ProgramToRun(digest=self._digest, suite=self._suite, files=program.to_json()).to_json()
        number, call = self._begin(job, avoid, only)
        member = call.member
        try:
            ended = self._wait(call)
        finally:
            with self._changed:
                self._calls.pop(number, None)
                self._roster.end(member, number)
                self._changed.notify_all()
            if call.ended is None:
                self._broker.send(Cancel(call=number))
        try:
            return self._reported(ended, member)
        except RecordingMismatch as why:
            self.expel(member.name, str(why))
            raise WorkerLost(member.host, member.name, str(why)) from None

    def workers(self) -> tuple[WorkerState, ...]:
        """See Remote."""
        with self._changed:
            return self._roster.states(time.monotonic())

    def wait_for_worker(self) -> None:
        """Wait until a worker is accepted. Raises HarnessError and EvaluationCancelled as `run`."""
        self._await(lambda: self._roster.pick(frozenset(), None), None)

    def expel(self, worker: str, why: str) -> None:
        """See Remote."""
        with self._changed:
            self._roster.expel(worker, one_line(why, 300))
            self._changed.notify_all()

    def cancel(self) -> None:
        """See Remote."""
        self._cancellation.set()

    def close(self) -> None:
        """See Remote."""
        self.cancel()
        self._closing.set()
        self._broker.end_input()
        self._reading.join(_CLOSING_S)
        if self._reading.is_alive():  # it does not end by itself
            self._broker.kill("it does not end")
            self._reading.join()

    # -- a call --------------------------------------------------------------------------------------------------------

    def _begin(self, job: str, avoid: frozenset[str], only: str | None) -> tuple[int, _WorkerCall]:
        """Send a program to a free worker."""
        number = next(self._numbers)

        def start() -> _WorkerCall | None:
            member = self._roster.pick(avoid, only)
            if member is None:
                return None
            now = time.monotonic()
            self._roster.start(member, number, now)
            call = self._calls[number] = _WorkerCall(member, now + self._patience.evaluation_s)
            return call

        call = self._await(start, only)
        self._broker.send(Submit(call=number, address=call.member.address, function=EVALUATE, text=job))
        return number, call

    def _await(self, attempt: Callable[[], Any], only: str | None) -> Any:
        """What `attempt` returns once it returns something. Raises HarnessError where no worker comes, WorkerLost where
        `only` does not come."""
        alone_since = time.monotonic()
        with self._changed:
            while True:
                self._cancellation.check()
                if self._broken:
                    raise HarnessError(self._broken)
                if (result := attempt()) is not None:
                    return result
                now = time.monotonic()
                if self._roster.has(only):
                    alone_since = now
                elif now - alone_since > self._patience.none_s:
                    why = f"no such worker came within {self._patience.none_s:g} s"
                    if only is not None:
                        raise WorkerLost(only, only, why)
                    raise HarnessError(self._no_worker())
                self._pause()

    def _pause(self) -> None:
        """Wait a moment for a change. A broker that says nothing is ended: what a worker sent may hold it for ever."""
        self._changed.wait(SLICE_S)
        if time.monotonic() - self._heard > self._patience.broker_s:
            self._heard = time.monotonic()
            self._broker.kill(f"the broker was silent for {self._patience.broker_s:g} s")

    def _no_worker(self) -> str:
        reasons = self._roster.why_none()
        return (
            f"no worker at {self._address} takes programs ({reasons})"
            if reasons
            else f"no worker came to {self._address} within {self._patience.none_s:g} s; start some with: "
            f"{anywhere('worker', self._address)}"
        )

    def _wait(self, call: _WorkerCall) -> CallEnded | CallOdd:
        """The end of a call. Raises WorkerLost and EvaluationCancelled."""
        member = call.member
        with self._changed:
            while call.ended is None:
                self._cancellation.check()
                if time.monotonic() > call.deadline:
                    why = f"no report of an evaluation within {self._patience.evaluation_s:g} s"
                    self._roster.lose(member, why)
                    raise WorkerLost(member.host, member.name, why)
                self._pause()
        if isinstance(call.ended, WorkerLost):
            raise call.ended
        if member.activity is WorkerActivity.EXPELLED:  # while it was at work
            raise WorkerLost(member.host, member.name, member.why)
        return call.ended

    def _reported(self, ended: CallEnded | CallOdd, member: Member) -> Reported:
        """The report of a call. Raises WorkerLost where there is none, RecordingMismatch where it cannot be one."""
        if isinstance(ended, CallOdd):
            raise RecordingMismatch(ended.why)
        if not ended.ok:
            raise WorkerLost(member.host, member.name, one_line(ended.text, 500))
        return Reported.from_json(ended.text, host=member.host, worker=member.name)

    # -- the broker ----------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        """Take what the broker says; start another one when it ends, until none works any more."""
        worked = time.monotonic()
        while True:
            works = False
            try:
                while (message := self._broker.receive()) is not None:
                    works = True
                    with self._changed:
                        self._heard = time.monotonic()
                        self._take(message)
                        self._changed.notify_all()
            except FrameError as cause:
                self._broker.kill(f"the broker sent {cause}")
            said = self._broker.close()
            if self._closing.is_set():
                return
            why = f"the connection to {self._address} was lost ({said})" if said else "the broker was killed"
            worked = time.monotonic() if works else worked
            with self._changed:
                self._lose(self._roster.lose_all(why), ConnectionLost)
                if time.monotonic() - worked > self._patience.none_s:
                    self._broken = why
                self._changed.notify_all()
            if self._broken or self._closing.wait(_PAUSE_S):
                return
            self._broker, self._heard = _BrokerProcess(self._address), time.monotonic()
            if self._closing.is_set():  # `close` may have seen the one before
                self._broker.close()
                return

    def _take(self, message: FromBroker) -> None:
        if isinstance(message, Workers):
            self._lose(self._roster.see(message.workers))
            self._open_workers()
            return
        call = self._calls.get(message.call)
        if call is None:  # nobody waits for it any more, or nobody ever did
            return
        if isinstance(message, CallLost):
            self._lose(self._roster.lose(call.member, one_line(message.why, 300)))
        elif call.opens:
            del self._calls[message.call]
            self._opened(message.call, call.member, message)
        elif call.ended is None:
            call.ended = message

    def _lose(self, numbers: set[int], lost: type[WorkerLost] = WorkerLost) -> None:
        """These calls have no worker any more."""
        for number in numbers & self._calls.keys():
            call = self._calls[number]
            if call.opens:
                del self._calls[number]
            elif call.ended is None:  # else its report is here, though nobody has taken it yet
                call.ended = lost(call.member.host, call.member.name, call.member.why)
                self._broker.send(Cancel(call=number))

    def _open_workers(self) -> None:
        """Give the task to new workers, and up on those that do not take it."""
        now = time.monotonic()
        for number, call in [*self._calls.items()]:
            if call.opens and now > call.deadline:
                del self._calls[number]
                self._roster.refuse(call.member, f"no report within {self._patience.opening_s:g} s")
        for member in [*self._roster.to_open()]:
            number = next(self._numbers)
            self._roster.open(member, number)
            self._calls[number] = _WorkerCall(member, now + self._patience.opening_s, opens=True)
            self._broker.send(Submit(call=number, address=member.address, function=OPEN, text=self._opening))

    def _opened(self, number: int, member: Member, message: CallEnded | CallOdd) -> None:
        self._roster.end(member, number)
        if isinstance(message, CallOdd):
            self._roster.refuse(member, message.why)
        elif not message.ok:
            self._roster.refuse(member, one_line(message.text, 500))
        else:
            try:
                report = WorkerReport.from_json(message.text)
            except ValueError as cause:
                self._roster.refuse(member, f"its report has another shape ({type(cause).__name__})")
            else:
                self._roster.opened(member, report)


@contextmanager
def open_remote(
    address: ClusterAddress, task: Task, suite: Suite, *, control: Files, level: str, patience: Patience | None = None
) -> Iterator[ClusterRemote]:
    """The workers of a cluster, for one suite of a task. `control` is the run's initial program, `level` the lowest
    sandbox level of a worker. Raises MachineError without Dask, TaskError for a folder that cannot travel, HarnessError
    where nothing starts."""
    require_dask()
    packed = pack(task)
    opening = Opening(digest=digest_of(packed), packed=packed, suite=suite.name, control=control.to_json())
    head = describe(task, suite, level=level, worker="head")
    patience = Patience.for_suite(suite, task.repository) if patience is None else patience
    with ExitStack() as stack:
        scheduler = address.scheduler
        if address.local:
            names = () if task.script is None else task.script.environment
            scheduler = stack.enter_context(LocalCluster(address.local, names)).address
        elif scheduler.startswith("tcp://") and not is_loopback(scheduler):
            warnings.warn(
                f"the scheduler at {scheduler} listens to other machines without TLS: everybody who reaches it can run "
                "code as the users who started scheduler and workers",
                OpenScheduler,
                stacklevel=3,
            )
        yield stack.enter_context(ClusterRemote(scheduler, opening, head, level=level, patience=patience))
