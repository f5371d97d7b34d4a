"""One run of a command with every process that it starts, from inside: starts it confined, watches, ends and measures.

`tree_init` is single-threaded and waits in one place (`watch`). A call that makes a process waits for its answer (see
`tree_policy`), which is no where there are too many. When the tree is to end there is no answer at all, so that no new
process appears while all are killed.
"""

import contextlib
import fcntl
import os
import select
import signal
import struct
import time
from collections import deque
from functools import partial
from typing import Any, Final

from evaluator.sandbox import jail, landlock, tree_confine, tree_policy, tree_scratch
from evaluator.sandbox.layers import PRIVILEGES, SECCOMP
from evaluator.sandbox.seccomp import Filter
from evaluator.sandbox.tree_watch import Tree

RIGHTS: Final = {"read": landlock.READING, "list": landlock.LISTING, "send": landlock.SENDING, "own": landlock.OWNING}
"""The rights of a tree on a path, by the names that the harness uses."""
_RECEIVE: Final = 0xC0502100  # SECCOMP_IOCTL_NOTIF_RECV, of a struct seccomp_notif
_SEND: Final = 0xC0182101  # SECCOMP_IOCTL_NOTIF_SEND, of a struct seccomp_notif_resp
_NOTICE: Final = struct.Struct("=QIIiIQ6Q")
_ANSWER: Final = struct.Struct("=QqiI")
_CONTINUE: Final = 1
_TOO_MANY: Final = -11  # EAGAIN, as where a limit of the kernel's is met
_LOOK_S: Final = 0.02
_SOONEST_S: Final = 0.002
_GROWTH: Final = 4 << 30
"""Bytes per second by which memory may grow, which decides when to look again."""
_SHARE: Final = 4
"""The pause until the next look, as a multiple of the CPU time of the last one."""
_IN_FLIGHT_S: Final = 0.05
"""Seconds until an allowed process is visible."""
_CHUNK: Final = 1 << 16
RESULT_FD: Final = "EVOLVE_RESULT_FD"
"""The environment variable with the descriptor to which a command may write its result: the first line counts."""


class HarnessGone(Exception):
    """Raised when the harness has closed its end."""


class TreeRun:
    """The run of one job, as `tree_init` receives it."""

    def __init__(self, control: int, job: dict[str, Any]) -> None:
        self._control, self._job = control, job
        self._scratch: str = job["scratch"]
        self._memory, self._room = self._job["memory_mb"] << 20, self._job["scratch_mb"] << 20
        self._output = bytearray()
        self._handed, self._handed_over = bytearray(), False  # the first line of the result's pipe; whether it is whole
        self._main = self._listener = self._pidfd = self._printed = self._results = -1
        self._pipes = set[int]()  # of `_printed` and `_results` those that are open
        self._allowed: deque[float] = deque()  # when processes and threads were allowed that no look has seen yet
        self._answering_s = 0.0  # CPU time for the tree's requests, which counts as the tree's
        self._confining_s = 0.0  # CPU time of the first process before the command began, which does not count
        self._held = 0  # bytes of the scratch folder when the command began
        self._ending_call = tree_policy.ending_number(os.uname().machine)
        self._stopped = ""
        self._peak = 0
        self._next_look = self._next_measure = self._started = 0.0
        self._wall_s = 0.0
        self._poll = select.poll()

    def prepare(self, files: dict[str, bytes]) -> None:
        """Open /proc, which the tree must not see, and fill the scratch folder. Raises OSError."""
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):  # the harness ends it by closing its end
            signal.signal(number, signal.SIG_IGN)
        proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if self._job["enclosed"]:
            tree_confine.drop_mount("/proc")
            if os.getuid() == 0:
                for path, kind in self._job["allowed"]:
                    if kind == "send":
                        tree_confine.freeze(path)
            # By descriptor: the tree may move or remove the folder.
            self._room_of = os.open(os.path.dirname(self._scratch), os.O_PATH | os.O_CLOEXEC)  # noqa: PTH120
            os.mkdir(self._scratch, 0o700)  # noqa: PTH102
            os.mkdir(self._job["shared_memory"], 0o700)  # noqa: PTH102
        else:
            jail.adopt_orphans()
        jail.dumpable(False)
        tree_confine.wake_soon()
        if PRIVILEGES in self._job["layers"]:
            jail.drop_capabilities()
        self._proc = proc
        self._tree = Tree(proc)
        tree_scratch.fill(self._scratch, files)

    def start(self) -> None:
        """Fork, let the child confine itself, and let it become the command. Raises OSError."""
        printed, printing = os.pipe()
        results, handing = os.pipe()
        ready, report = os.pipe()
        begin, go = os.pipe()
        policy = None
        if SECCOMP in self._job["layers"]:
            policy = Filter(partial(tree_policy.assemble_tree, own_namespaces=self._job["enclosed"]))
        self._main = os.fork()
        if self._main == 0:
            try:
                os.close(ready)
                os.close(go)
                self._become(printing, handing, report, begin, policy)
            finally:  # it must never return here as a second `tree_init`
                os._exit(1)
        for descriptor in (printing, handing, report, begin):
            os.close(descriptor)
        self._printed, self._results = printed, results
        self._pipes |= {printed, results}
        self._tree.main = self._main
        self._pidfd = os.pidfd_open(self._main)
        report_text = os.read(ready, 4096).decode(errors="replace")
        os.close(ready)
        if not report_text.startswith("ready "):
            raise OSError(report_text or "the command's process ended before it was confined")
        listener = int(report_text.removeprefix("ready "))
        if listener >= 0:
            self._listener = tree_confine.take(self._pidfd, listener)
            self._poll.register(self._listener, select.POLLIN)
        for descriptor in (self._control, self._printed, self._results, self._pidfd):
            self._poll.register(descriptor, select.POLLIN)
        os.set_blocking(self._printed, False)
        os.set_blocking(self._results, False)
        before = self._tree.sample(self._main)
        self._confining_s = 0.0 if before is None else before.own_s
        self._held = self._in_memory() if self._job["enclosed"] else 0
        self._started = time.monotonic()
        os.write(go, b"g")
        os.close(go)

    def _become(self, printing: int, handing: int, report: int, begin: int, policy: Filter | None) -> None:
        """In the child: confine it, report that, and start the command when `tree_init` allows it."""
        try:
            os.setsid()
            jail.end_with_parent()
            tree_confine.default_signals()
            null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
            for descriptor, standard in ((null, 0), (printing, 1), (printing, 2)):
                os.dup2(descriptor, standard)
            os.chdir(self._scratch)
            allowed = [(path, RIGHTS[kind]) for path, kind in self._job["allowed"]]
            layers = self._job["layers"]
            listener = tree_confine.confine(layers, self._job, allowed, policy, proc=self._proc)
            for archive in self._job["archives"]:
                tree_scratch.unpack(archive, self._scratch)
            os.write(report, f"ready {listener}".encode())
        except Exception as cause:  # noqa: BLE001 - boundary: the reason must reach `tree_init`
            os.write(report, str(cause).encode())
            return
        going = os.read(begin, 1)
        if listener >= 0:
            os.close(listener)
        if not going:
            return
        argv = self._job["argv"]
        try:
            # The only descriptor of `tree_init` that is inherited: all others close here.
            os.set_inheritable(handing, True)
            os.execve(argv[0], argv, {**self._job["environment"], RESULT_FD: str(handing)})
        except OSError as cause:
            os.write(2, f"{argv[0]} cannot be started: {cause.strerror}\n".encode())
            os._exit(127 if isinstance(cause, FileNotFoundError) else 126)

    def watch(self) -> None:
        """Wait until the command ends, or the tree meets a limit. Raises HarnessGone."""
        while not self._stopped and self._tree.status is None:
            pause = max(0.0, self._next_look - time.monotonic())
            ready = {descriptor for descriptor, _ in self._poll.poll(pause * 1000)}
            if self._control in ready:
                raise HarnessGone
            if self._printed in ready:
                self._read_output()
            if self._results in ready:
                self._read_result()
            if self._listener in ready:
                self._answer()
            if self._pidfd in ready:
                self._tree.reap()
            if time.monotonic() >= self._next_look:
                self._look()

    def _look(self) -> None:
        started, began = time.monotonic(), time.thread_time()
        self._tree.look()
        while self._allowed and self._allowed[0] < started - _IN_FLIGHT_S:
            self._allowed.popleft()
        used, left = self._measure(started)
        if started - self._started > self._job["wall_s"]:
            self._stopped = "timeout"
        if self._cpu_s() > self._job["cpu_s"]:
            self._stopped = "cpu_limit"
        if used > self._memory:
            self._stopped = "oom"
        if left < 0:
            self._stopped = "scratch"
        soon = min(_LOOK_S, max(_SOONEST_S, (self._memory - used) / _GROWTH))
        self._next_look = time.monotonic() + max(soon, _SHARE * (time.thread_time() - began))

    def _cpu_s(self) -> float:
        return max(0.0, self._tree.account.cpu_s() - self._confining_s) + self._answering_s

    def _measure(self, now: float) -> tuple[int, float]:
        """(bytes of memory in use, bytes left in the scratch folder); below zero: too many bytes or files."""
        held, left = 0, 0.0
        if self._job["enclosed"]:
            space = os.fstatvfs(self._room_of)
            held = self._in_memory()
            left = float(self._room - (space.f_files - space.f_ffree) * tree_scratch.NAME_BYTES)
        elif now >= self._next_measure:
            began = time.thread_time()
            left = self._room_on_disk()
            spent = time.thread_time() - began
            self._next_measure = now + max(_LOOK_S, _SHARE * spent)
        private, shared = self._tree.memory()
        if private + (held or shared) > self._memory:
            private, shared = self._tree.memory(exact=True)
        used = private + (held if self._job["enclosed"] else shared)
        self._peak = max(self._peak, used - self._held)
        return used, left

    def _in_memory(self) -> int:
        """Bytes of the files of an enclosed tree, which are in memory."""
        space = os.fstatvfs(self._room_of)
        return (space.f_blocks - space.f_bfree) * space.f_frsize

    def _room_on_disk(self) -> float:
        try:
            used = tree_scratch.used_bytes(self._scratch, self._room)
        except tree_scratch.TooDeepError:
            return -1.0
        unnamed, unknown = self._tree.unnamed_bytes(self._scratch)
        return -1.0 if unknown else float(self._room - used - unnamed)

    def _read_output(self) -> bool:
        """Read what was printed; whether there was any."""
        chunk = self._chunk(self._printed)
        most = self._job["output_bytes"]
        self._output += chunk
        if len(self._output) > most + (1 << 20):
            del self._output[: len(self._output) - most]
        return bool(chunk)

    def _read_result(self) -> bool:
        """Read the result's pipe, and keep the first line up to the limit; whether there was any."""
        chunk = self._chunk(self._results)
        if not self._handed_over:
            line, end, _ = chunk.partition(b"\n")
            self._handed += line[: self._job["result_bytes"] + 1 - len(self._handed)]
            self._handed_over = bool(end)
        return bool(chunk)

    def _chunk(self, pipe: int) -> bytes:
        """The bytes in a pipe now, perhaps none; closes the pipe at its end."""
        if pipe not in self._pipes:
            return b""
        try:
            chunk = os.read(pipe, _CHUNK)
        except BlockingIOError:
            return b""
        if not chunk:
            self._pipes.remove(pipe)
            self._poll.unregister(pipe)
            os.close(pipe)
        return chunk

    def _answer(self) -> None:
        """Answer a waiting process: let its call go on, or refuse a further process."""
        notice = bytearray(_NOTICE.size)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, notice)
        except OSError:  # it was killed meanwhile, or the whole tree is gone
            if not self._tree.reap():
                self._poll.unregister(self._listener)
                self._listener = -1
            return
        began = time.thread_time()
        key, thread, _, call, *_ = _NOTICE.unpack(notice)
        error, flags = 0, _CONTINUE
        if call == self._ending_call:
            self._tree.about_to_end(thread)
        elif self._tree.tasks + len(self._allowed) >= tree_confine.MOST_TASKS:
            error, flags = _TOO_MANY, 0  # until the next look
        else:
            self._allowed.append(time.monotonic())
        with contextlib.suppress(OSError):  # killed meanwhile
            fcntl.ioctl(self._listener, _SEND, _ANSWER.pack(key, 0, error, flags))
        self._answering_s += time.thread_time() - began

    def end(self) -> None:
        """End every process. Raises TimeoutError when one cannot be ended."""
        if self._started:
            self._wall_s = time.monotonic() - self._started
        self._tree.end()

    def ending(self) -> tuple[dict[str, Any], bytes, bytes]:
        """After the end: (header for the harness, end of the output, result)."""
        while self._read_output() or self._read_result():
            pass
        status = os.waitstatus_to_exitcode(self._tree.status or 0)
        cpu_s = self._cpu_s()
        if not self._stopped and (cpu_s > self._job["cpu_s"] or status == -signal.SIGXCPU):
            self._stopped = "cpu_limit"
        content, too_large = None, False
        if not self._stopped and status >= 0:
            content, too_large = self._result()
        output = bytes(self._output[-self._job["output_bytes"] :])
        header = {
            "stopped": self._stopped,
            "status": status,
            "cpu_s": cpu_s,
            "wall_s": self._wall_s,
            "peak_bytes": max(self._peak, self._tree.largest),
            "output": len(output),
            "result": None if content is None else len(content),
            "too_large": too_large,
        }
        return header, output, content or b""

    def _result(self) -> tuple[bytes | None, bool]:
        """The result, from the pipe or else the file, and whether it is too large (then None)."""
        most = self._job["result_bytes"]
        if len(self._handed) > most:
            return None, True
        if self._handed or self._handed_over:
            return (bytes(self._handed), False) if self._handed_over else (None, False)
        return tree_scratch.result(self._scratch, self._job["result"], most)
