"""A cluster on this machine, for a try: a scheduler on loopback and some workers, started and ended by the head."""

import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import Final, Self

from evaluator.errors import HarnessError
from evolve.cluster.confinement import environment
from evolve.cluster.hosting import command_of, hosting_environment

_LOOK_S: Final = 0.5
_START_S: Final = 60.0


class LocalCluster:
    """A scheduler and `count` workers, each started again when it dies. They end with this process."""

    def __init__(self, count: int, names: Sequence[str] = ()) -> None:
        """`names` are the environment variables of the task's script. Raises HarnessError where nothing starts."""
        self._names = names
        self._folder = tempfile.TemporaryDirectory(prefix="evolve-scheduler-")
        self._closing = threading.Event()
        self._scheduler, self.address = self._start_scheduler(0)
        self._workers = [self._start_worker(number) for number in range(1, count + 1)]
        self._watching = threading.Thread(target=self._watch, name="local cluster", daemon=True)
        self._watching.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def processes(self) -> tuple[int, ...]:
        """The process ids of the scheduler and of those that host the workers."""
        return self._scheduler.pid, *(worker.pid for worker in self._workers)

    def close(self) -> None:
        """End all of them."""
        self._closing.set()
        self._watching.join()
        for process in (*self._workers, self._scheduler):
            _end(process)
        self._folder.cleanup()

    def _start_scheduler(self, port: int) -> tuple[subprocess.Popen[bytes], str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "evolve.cluster.scheduler", str(port), self._folder.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
        )
        assert process.stdout is not None
        assert process.stderr is not None
        address = process.stdout.readline().decode("ascii", "replace").strip()
        if address:
            return process, address
        why = process.stderr.read(2000).decode(errors="replace").strip()
        _end(process)
        raise HarnessError(f"a scheduler cannot be started on this machine: {why}")

    def _start_worker(self, number: int) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            command_of(self.address, f"local-{number}", until_closed=True),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=hosting_environment(self._names),
            start_new_session=True,  # Ctrl-C at the terminal is for the head alone
        )

    def _watch(self) -> None:
        while not self._closing.wait(_LOOK_S):
            if self._scheduler.poll() is not None:
                self._restart_scheduler()
            for place, worker in enumerate(self._workers):
                if worker.poll() is not None:
                    _end(worker)
                    self._workers[place] = self._start_worker(place + 1)

    def _restart_scheduler(self) -> None:
        """Start it at the same port, which may take a moment to be free."""
        _end(self._scheduler)
        deadline = time.monotonic() + _START_S
        while not self._closing.wait(_LOOK_S):
            try:
                self._scheduler, _ = self._start_scheduler(int(self.address.rpartition(":")[2]))
            except HarnessError:
                if time.monotonic() > deadline:
                    return
            else:
                return


def _end(process: subprocess.Popen[bytes]) -> None:
    """Close the input of a process, which ends it; kill it after some seconds."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
