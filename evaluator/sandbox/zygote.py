"""A worker's process: loads what candidates may import, then forks one fresh process for each candidate.

Run as a script by path, with `-s -S -P -B` and an explicit environment. It holds no secret and no instance, and
never reads a byte of a candidate. What it needs beyond what candidates may import is imported late, to be told apart
from that and hidden from them. It serves one harness over one stream socket (descriptor in the first argument):

    harness: a frame {"entry_point", "adapter", "adapter_function", "importable", "available", "preload", "packages",
             "path", "memory_mb", "cpu_total_s", "answer_bytes", "outside": {"file", "socket_name"} to prove that
             bubblewrap is around it, or null}
    zygote:  a frame {"started": true}, or {"failed": reason, "adapter": whether that is what failed}
    harness: SPAWN and a byte that names the layers, with two descriptors (the candidate's request and reply ends)
    zygote:  SPAWNED with the pidfd of the candidate
    harness: REAP, after it has killed the candidate or seen it end
    zygote:  an `ENDING` (wait status, CPU seconds, peak memory in KiB)

The end of the stream is the end of the harness: the zygote kills its candidate and ends.
"""

import gc
import importlib
import json
import os
import signal
import struct
import sys
from typing import Any, Final

SPAWN: Final = b"S"
SPAWNED: Final = b"s"
REAP: Final = b"R"
ENDING: Final = struct.Struct("!qdq")


class _PackageError(Exception):
    """Raised when a package of the task does not load."""


class _AdapterError(Exception):
    """Raised when it is the task's adapter that does not load."""


def main() -> None:
    """Serve one harness until its end of the socket closes."""
    control = int(sys.argv[1])
    settings = json.loads(_receive(control, int.from_bytes(_receive(control, 4), "big")))
    try:
        setup = _prepare(settings)
    except BaseException as cause:  # noqa: BLE001 - boundary: the reason must reach the harness, whatever it is
        _tell(control, {"failed": str(cause)[:2000], "adapter": isinstance(cause, _AdapterError)})
        sys.exit(1)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    gc.collect()
    gc.freeze()
    _tell(control, {"started": True})
    _serve(control, setup, null)


def _prepare(settings: dict[str, Any]) -> Any:
    """Load what candidates may import, then the machinery (hidden from them), then the task's adapter."""
    own_path = list(sys.path)
    sys.path += settings["path"]
    for name in (*settings["importable"], *settings["preload"]):
        importlib.import_module(name)
    for name in settings["packages"]:
        try:
            importlib.import_module(name)
        except BaseException as cause:
            raise _PackageError(f"the package {name!r} does not work in the sandbox ({cause!r:.300})") from cause
    visible = set(sys.modules)
    if "ctypes" not in settings["importable"]:
        visible -= {"ctypes", "_ctypes"}  # numpy brings it along
    # The packages are found by this file's place, so that nothing has to be installed or on any path.
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 (pathlib would be hidden machinery)
    sys.path[:] = [*own_path, os.path.dirname(os.path.dirname(here))]  # noqa: PTH120
    import socket  # noqa: F401 (loaded here, to be hidden like the rest)

    from evaluator.sandbox import enclosure, jail, runner

    hidden = frozenset(sys.modules) - visible
    sys.path[:] = own_path
    if settings["outside"] is not None:
        enclosure.check(**settings["outside"])
    try:
        adapt = runner.load_adapter(settings["adapter"], settings["adapter_function"])
    except BaseException as cause:
        raise _AdapterError(_told(cause)) from cause
    return runner.Setup(
        entry_point=settings["entry_point"],
        adapt=adapt,
        importable=tuple(settings["available"]),
        hidden=hidden,
        memory_mb=settings["memory_mb"],
        cpu_total_s=settings["cpu_total_s"],
        answer_bytes=settings["answer_bytes"],
        jail=jail.prepare(),
    )


def _told(cause: BaseException) -> str:
    """What is wrong with the adapter, to be put behind the name of its file."""
    from evaluator.sandbox import faults, runner

    if isinstance(cause, runner.UnfitError):
        return f": {cause}"
    where = [f" line {line}, while it was loaded" for line, _ in faults.lines(cause, faults.ADAPTER_NAME)]
    return f"{where[-1] if where else ''}: raised {faults.type_name(cause)}: {faults.message(cause)}"


def _serve(control_fd: int, setup: Any, null: int) -> None:
    import socket

    from evaluator.sandbox import layers, runner

    control = socket.socket(fileno=control_fd)
    candidate = 0
    me = os.getpid()
    while True:
        order, descriptors, _, _ = socket.recv_fds(control, 2, 2)
        if order[:1] == SPAWN and not candidate and len(descriptors) == 2:
            candidate = os.fork()
            if candidate == 0:
                try:
                    runner.run(
                        setup,
                        request=descriptors[0],
                        reply=descriptors[1],
                        null=null,
                        parent=me,
                        layers=layers.layers_in(order[1]),
                    )
                finally:  # whatever became of it, it must never come back here as a second zygote
                    os._exit(1)
            pidfd = os.pidfd_open(candidate)
            socket.send_fds(control, [SPAWNED], [pidfd])
            for descriptor in (*descriptors, pidfd):
                os.close(descriptor)
        elif order == REAP and candidate:
            _, status, usage = os.wait4(candidate, 0)
            candidate = 0
            control.sendall(ENDING.pack(status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss))
        else:  # the harness has gone, or speaks another language
            if candidate:
                os.kill(candidate, signal.SIGKILL)
            return


def _tell(control: int, document: dict[str, Any]) -> None:
    text = json.dumps(document).encode()
    os.write(control, len(text).to_bytes(4, "big") + text)


def _receive(control: int, size: int) -> bytes:
    received = b""
    while len(received) < size:
        chunk = os.read(control, size - len(received))
        if not chunk:
            sys.exit(0)  # the harness has gone
        received += chunk
    return received


if __name__ == "__main__":
    main()
