"""One candidate, from the fork to the kill: its channels, its limits, and how it ended.

    with Candidate(worker, limits) as candidate:
        exchange = candidate.load(source, seed)      failure and detail, or an answer; CPU and wall seconds
        exchange = candidate.ask(request_fields)     one instance at a time: the next is sent only after this reply
        candidate.begin()                            or one item of an instance at a time, which ends with `finish`
        exchange = candidate.put(request_fields)
    candidate.peak_memory_mb

An exchange after which the candidate is not `alive` is its last. Raises SandboxError for faults of the harness,
HarnessError when the machine gives the candidate no core, EvaluationCancelled after cancellation. Time is measured in
the harness: CPU by the kernel's clock of the candidate's process, from reply to reply, so that work between two
instances counts. Wall time spent waiting for a core counts against no limit: a sleeping program is stopped at the
limit, a starved one goes on.
"""

import contextlib
import math
import os
import select
import signal
import time
from typing import Final

from evaluator.errors import HarnessError, SandboxError
from evaluator.evaluation import Outcome
from evaluator.sandbox import protocol, worker
from evaluator.sandbox.exchange import AnsweringProcess, Exchange
from evaluator.sandbox.turns import SLICE_S
from evaluator.sandbox.worker import Ending, Worker
from evaluator.signals import name_of
from evaluator.task import Limits

_LOOK_S: Final = 0.02
"""Seconds between two checks of the limits of an instance that is asked item by item."""
_GRACE_S: Final = 1.0
"""Seconds that a candidate may take to end after it closed its channel."""
MOST_STARVED: Final = 20
"""The multiple of its wall limit after which a candidate that waits for a core is given up, without a verdict."""
_READY_S: Final = 20.0
"""Seconds that a forked process may take to confine itself; a few milliseconds are usual."""
_OUTCOME_OF: Final = {
    "load": Outcome.LOAD_ERROR,
    "call": Outcome.EXCEPTION,
    "adapter": Outcome.EXCEPTION,
    "answer": Outcome.INVALID_OUTPUT,
    "output": Outcome.OUTPUT_LIMIT,
    "memory": Outcome.OOM,
}


class _Stop(Exception):
    """Raised inside an exchange that ends without a reply."""

    def __init__(self, outcome: Outcome, detail: str) -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.detail = detail


class Candidate(AnsweringProcess):
    """One untrusted process, which never outlives the `with`. None of its replies is trusted."""

    def __init__(self, worker_: Worker, limits: Limits) -> None:
        self._worker = worker_
        self._limits = limits
        self._pidfd = -1
        self._request, self._reply = -1, -1
        self._cap = protocol.frame_cap(limits.answer_bytes)
        self._ending: Ending | None = None
        self._cpu_s = 0.0  # at the beginning of this instance
        self._per_item_s: float | None = None  # the limit for one item of this instance
        self._item_cpu_s, self._seen_cpu_s = 0.0, 0.0  # at the beginning of this item; at the last check
        # These times leave out the pauses between requests, as if all requests came in one go.
        self._started, self._began, self._heard, self._looked = 0.0, 0.0, 0.0, 0.0
        self._waited_before: float | None = None  # for a core, at the first check of this instance

    def __enter__(self) -> "Candidate":
        with contextlib.ExitStack() as theirs:
            try:
                request, self._request = os.pipe2(os.O_CLOEXEC)
                theirs.callback(os.close, request)
                self._reply, reply = os.pipe2(os.O_CLOEXEC)
                theirs.callback(os.close, reply)
                os.set_blocking(self._request, False)
                os.set_blocking(self._reply, False)
                self._pidfd = self._worker.spawn(request, reply)
            except BaseException as cause:  # boundary: the descriptors must not outlive a failed start
                self._close()
                if not isinstance(cause, OSError):
                    raise
                raise SandboxError(f"no channel to a candidate can be opened: {cause.strerror}") from None
        self._pid = worker.process_id(self._pidfd)
        self._clock = ((~self._pid) << 3) | 2
        self._poll = select.poll()
        self._poll.register(self._reply, select.POLLIN)
        self._started = self._began = self._heard = self._looked = time.perf_counter()
        try:
            self._await_ready()
        except BaseException:  # boundary: as above
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.end()
        finally:
            self._close()

    @property
    def peak_memory_mb(self) -> float:
        """Peak resident memory, known after the `with`."""
        return 0.0 if self._ending is None else self._ending.peak_memory_mb

    @property
    def waiting_is_measured(self) -> bool:
        """Whether its time waiting for a core is measured; known inside the `with`."""
        return scheduled_s(self._pid)[0] > 0

    @property
    def alive(self) -> bool:
        """See AnsweringProcess."""
        return self._ending is None

    def begin(self, per_item_s: float | None = None) -> None:
        """See AnsweringProcess."""
        self._worker.cancellation.check()
        self._began = self._heard
        self._waited_before = None
        self._per_item_s, self._item_cpu_s = per_item_s, self._cpu_s

    def put(self, fields: bytes) -> Exchange:
        """See AnsweringProcess."""
        nonce = os.urandom(8).hex()
        now = time.perf_counter()
        idle = now - self._heard
        self._started += idle
        self._began += idle
        self._looked += idle
        try:
            payload = self._round_trip(protocol.request(nonce, fields), self._began)
            reply = protocol.reply_of(payload, nonce)
            self._heard = time.perf_counter()
            if self._per_item_s is not None or self._heard - self._looked > _LOOK_S:  # many quick replies add up, too
                self._check_limits(self._began)
                self._looked, self._item_cpu_s = self._heard, self._seen_cpu_s
        except _Stop as stop:
            exchange = Exchange(stop.outcome, stop.detail)
        except protocol.ProtocolError as cause:
            self.end()
            exchange = Exchange(Outcome.PROTOCOL, str(cause))
        else:
            if reply.fault is None:
                return Exchange(None, answer=reply.answer, size=len(payload))
            return Exchange(_OUTCOME_OF[reply.fault.kind], fault=reply.fault)
        self._heard = time.perf_counter()
        return exchange

    def finish(self, exchange: Exchange) -> None:
        """See AnsweringProcess."""
        before = self._cpu_s
        exchange.wall_s = self._heard - self._began
        self._read_clock()
        exchange.cpu_s = max(0.0, self._cpu_s - before)
        if self._ending is None:
            if over := self._over_cpu(exchange.cpu_s):
                self._refuse(exchange, Outcome.CPU_LIMIT, over)
            elif self._is_over(self._heard - self._started, self._limits.wall_total_s, 0.0):
                self._refuse(exchange, Outcome.TIMEOUT, self._over_wall(self._limits.wall_total_s, " in total"))

    def _refuse(self, exchange: Exchange, outcome: Outcome, detail: str) -> None:
        """Turn a late reply into a failure, and end the candidate."""
        self.end()
        exchange.failure, exchange.detail, exchange.answer, exchange.fault = outcome, detail, None, None

    def _round_trip(self, request: bytes, started: float) -> bytes:
        """Send a request and read the payload of one reply. Raises _Stop and ProtocolError."""
        unsent = memoryview(request)
        received = bytearray()
        while True:
            if unsent:
                unsent = self._send(unsent)
            if not self._wait(started, sending=bool(unsent)):
                self._check_limits(started)  # the candidate may read a request byte by byte
            else:
                try:
                    chunk = os.read(self._reply, self._cap + protocol.HEADER + 1)
                except BlockingIOError:
                    continue
                if not chunk:
                    raise self._ended()
                received += chunk
                payload = protocol.payload_of(received, self._cap)
                if payload is not None:
                    if unsent:
                        raise protocol.ProtocolError("a reply came before the request was read")
                    return payload
                self._check_limits(started)  # or send a reply byte by byte

    def _send(self, unsent: memoryview) -> memoryview:
        try:
            return unsent[os.write(self._request, unsent) :]
        except BlockingIOError:
            return unsent
        except BrokenPipeError:
            raise self._ended() from None

    def _wait(self, started: float, *, sending: bool) -> bool:
        """Wait until there is something to read (True) or perhaps to write (False). Raises _Stop at a limit."""
        if sending:
            self._poll.register(self._request, select.POLLOUT)
        allowance = self._per_item_s or self._limits.cpu_per_instance_s
        try:
            while True:
                ready = self._poll.poll(max(5.0, min(allowance, SLICE_S) * 1000))
                if ready:
                    return any(descriptor == self._reply for descriptor, _ in ready)
                allowance = self._check_limits(started)
        finally:
            if sending:
                self._poll.unregister(self._request)

    def _check_limits(self, started: float) -> float:
        """The CPU seconds left for this instance. Kills and raises _Stop at a limit; raises EvaluationCancelled."""
        self._worker.cancellation.check()
        before = self._cpu_s
        self._read_clock()
        self._seen_cpu_s, self._cpu_s = self._cpu_s, before
        used = self._seen_cpu_s - before
        if over := self._over_cpu(used, total=before + used):
            self.end()
            raise _Stop(Outcome.CPU_LIMIT, over)
        item_left = math.inf if self._per_item_s is None else self._item_cpu_s + self._per_item_s - self._seen_cpu_s
        if item_left < 0:
            self.end()
            raise _Stop(Outcome.CPU_LIMIT, f"over the limit of {self._per_item_s:g} s CPU for one item")
        now = time.perf_counter()
        limits = self._limits
        if self._waited_before is None:
            self._waited_before = scheduled_s(self._pid)[1]
        for elapsed, limit, waited_before, what in (
            (now - started, limits.wall_per_instance_s, self._waited_before, ""),
            (now - self._started, limits.wall_total_s, 0.0, " in total"),
        ):
            if self._is_over(elapsed, limit, waited_before):
                self.end()
                raise _Stop(Outcome.TIMEOUT, self._over_wall(limit, what))
        return min(limits.cpu_per_instance_s - used, limits.cpu_total_s - before - used, item_left)

    def _is_over(self, elapsed: float, limit: float, waited_before: float) -> bool:
        """Whether wall time, without the time waiting for a core, is over its limit. Kills the candidate and raises
        HarnessError where the waiting does not end."""
        if elapsed <= limit:
            return False
        waited = scheduled_s(self._pid)[1] - waited_before
        if elapsed - waited > limit:
            return True
        if elapsed > MOST_STARVED * limit:
            self.end()
            raise HarnessError(
                f"a program waited {waited:.0f} of {elapsed:.0f} seconds for a core: this machine is too busy to "
                "evaluate anything, and there is no verdict. Stop what else runs here, or go on with fewer workers"
            )
        return False

    @staticmethod
    def _over_wall(limit: float, what: str) -> str:
        return f"over the limit of {limit:g} s of wall time{what}"

    def _over_cpu(self, used: float, total: float | None = None) -> str:
        limits = self._limits
        if used > limits.cpu_per_instance_s:
            return f"over the limit of {limits.cpu_per_instance_s:g} s CPU"
        if (self._cpu_s if total is None else total) > limits.cpu_total_s:
            return f"over the limit of {limits.cpu_total_s:g} s CPU in total"
        return ""

    def _read_clock(self) -> None:
        if self._ending is not None:
            self._cpu_s = self._ending.cpu_s
            return
        # An error means that it has just ended: the next exchange notices, and gets the kernel's account.
        with contextlib.suppress(OSError):
            self._cpu_s = time.clock_gettime(self._clock)

    def _await_ready(self) -> None:
        """Wait until the process has confined itself. Raises SandboxError when that failed."""
        received = bytearray()
        deadline = time.perf_counter() + _READY_S
        while (payload := protocol.payload_of(received)) is None:
            self._worker.cancellation.check()
            if time.perf_counter() > deadline:
                raise SandboxError("a candidate's process did not become ready")
            if not self._poll.poll(SLICE_S * 1000):
                continue
            chunk = os.read(self._reply, protocol.FRAME_CAP)
            if not chunk:
                raise SandboxError("a candidate's process ended before it was confined")
            received += chunk
        try:
            reply = protocol.reply_of(payload, "")
        except protocol.ProtocolError as cause:
            raise SandboxError(f"a candidate's process could not confine itself: {cause}") from None
        if reply.fault is not None:
            raise SandboxError(f"a candidate's process could not confine itself: {reply.fault.message}")
        if reply.answer != [*self._worker.layers]:
            raise SandboxError(f"a candidate is confined by {reply.answer}, and not by {self._worker.layers}")

    def end(self) -> Ending:
        """Kill it now, unless it has ended, and collect it; afterwards `peak_memory_mb` is known."""
        if self._ending is None:
            worker.kill(self._pidfd)
            self._ending = self._worker.reap()
        return self._ending

    def _ended(self) -> _Stop:
        """Why its channel closed: how the process ended, or that it goes on without it. Raises SandboxError when
        somebody else than the harness killed it."""
        alone = worker.has_ended(self._pidfd, _GRACE_S)
        ending = self.end()
        if not alone:
            return _Stop(Outcome.PROTOCOL, "the program closed the channel to the harness")
        if os.WIFEXITED(ending.status):
            return _Stop(Outcome.EXITED, f"the process ended with exit status {os.WEXITSTATUS(ending.status)}")
        number = os.WTERMSIG(ending.status)
        if number == signal.SIGKILL and ending.cpu_s <= self._limits.cpu_total_s:
            # A candidate can send no signal, not even to itself, and its memory limit raises MemoryError.
            raise SandboxError(
                f"a candidate's process was killed from outside, when it held {ending.peak_memory_mb:.0f} MB (the "
                "kernel does so where memory runs out)"
            )
        return _Stop(*self._killed_by(number))

    def _killed_by(self, number: int) -> tuple[Outcome, str]:
        limits = self._limits
        if number == signal.SIGSYS:
            return (
                Outcome.FORBIDDEN,
                "the program made a system call that no honest program needs (such as ptrace, mount or bpf)",
            )
        if number in (signal.SIGXCPU, signal.SIGKILL):
            return Outcome.CPU_LIMIT, f"over the limit of {limits.cpu_total_s:g} s CPU in total"
        name = name_of(number)
        hint = {
            "SIGSEGV": " (the usual causes: recursion that is too deep, os.abort)",
            "SIGABRT": " (the interpreter gave up)",
        }.get(name, "")
        return Outcome.CRASH, f"the process died of {name}{hint}"

    def _close(self) -> None:
        for descriptor in (self._request, self._reply, self._pidfd):
            if descriptor >= 0:
                os.close(descriptor)
        self._request = self._reply = self._pidfd = -1


def scheduled_s(process_id: int) -> tuple[float, float]:
    """Seconds that the process has spent (on a core, waiting for one), by the kernel's own account, which no program
    can change; (0, 0) where the kernel has none (no CONFIG_SCHED_INFO, /proc mounted with hidepid). Low CPU time alone
    proves nothing: a sleeping program uses little, too."""
    try:
        with open(f"/proc/{process_id}/schedstat", "rb") as file:  # noqa: PTH123 (looked at while others wait)
            ran, waited, *_ = file.read(100).split()
        return int(ran) / 1e9, int(waited) / 1e9
    except (OSError, ValueError):
        return 0.0, 0.0
