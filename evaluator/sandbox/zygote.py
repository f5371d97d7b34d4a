"""A worker's process: loads what candidates may import, then forks one fresh process for each candidate.

Run as a script by path, with `-s -S -P -B` and an explicit environment. It holds no secret and no instance, and never
reads a byte of a candidate. Its own modules are imported after those for candidates, so that it can hide them. It
serves one harness over one stream socket (descriptor in the first argument):

    harness: a frame {"entry_point", "adapter", "adapter_function", "importable", "available", "preload", "packages",
             "path", "layers", "memory_mb", "cpu_total_s", "answer_bytes", "outside": {"file", "socket_name"} to prove
             that bubblewrap is around it, or null}
    zygote:  a frame {"started": true}, or {"failed": reason, "adapter": whether that is what failed}
    harness: SPAWN with two descriptors (the candidate's request and reply ends)
    zygote:  SPAWNED with the pidfd of the candidate
    harness: REAP, once the candidate has been killed or has ended
    zygote:  an `ENDING` (wait status, CPU seconds, peak memory in KiB)

The end of the stream is the end of the harness: the zygote kills its candidate and ends.
"""

import contextlib
import gc
import importlib
import json
import os
import re
import signal
import struct
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

SPAWN: Final = b"S"
SPAWNED: Final = b"s"
REAP: Final = b"R"
ENDING: Final = struct.Struct("!qdq")

# An indented import, mostly in a function: one line, or names in parentheses.
_INNER_IMPORT: Final = re.compile(
    r"^[ \t]+(?:import[ \t]+([\w., \t]+)|from[ \t]+([\w.]+)[ \t]+import[ \t]+(?:\(([^)]*)\)|([\w, \t]+)))", re.MULTILINE
)
_NOT_FOR_PROGRAMS: Final = frozenset({"conftest", "distutils", "f2py", "test", "tests"})
"""Parts of the names of modules for testing or building packages."""


class _PackageError(Exception):
    """Raised when a package of the task does not load."""


class _AdapterError(Exception):
    """Raised when the task's adapter does not load."""


def main() -> None:
    """Serve one harness until its end of the socket closes."""
    control = int(sys.argv[1])
    settings = json.loads(_receive(control, int.from_bytes(_receive(control, 4), "big")))
    try:
        setup = _prepare(settings)
    except BaseException as cause:  # noqa: BLE001 - boundary: the reason must reach the harness, whatever it is
        _send(control, {"failed": str(cause)[:2000], "adapter": isinstance(cause, _AdapterError)})
        sys.exit(1)
    null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    gc.collect()
    gc.freeze()
    _send(control, {"started": True})
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
    _import_early({name.partition(".")[0] for name in settings["packages"]})
    visible = set(sys.modules)
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
        raise _AdapterError(_describe_adapter_error(cause)) from cause
    return runner.Setup(settings=settings, adapt=adapt, hidden=hidden, policy=jail.prepare(settings["layers"]))


def _import_early(packages: set[str]) -> None:
    """Import modules of Python and of these packages that the loaded ones import inside functions: a candidate could
    not. A module that cannot be imported here is missing for candidates as well."""
    read: set[str] = set()
    tried: set[str] = set()
    while waiting := [name for name in sys.modules if name.partition(".")[0] in packages and name not in read]:
        for importer in waiting:
            read.add(importer)
            for name in _inner_imports(sys.modules[importer]):
                top, *inner = name.split(".")
                importable = top in packages or top in sys.stdlib_module_names
                if importable and name not in tried and not _NOT_FOR_PROGRAMS & {top, *inner} and _may_be_module(name):
                    with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
                        importlib.import_module(name)
                tried.add(name)


def _inner_imports(module: ModuleType) -> Iterator[str]:
    """The names, perhaps of modules, that the source of a module imports on indented lines."""
    file = vars(module).get("__file__") or ""
    if not file.endswith(".py") or not os.path.isfile(file):  # noqa: PTH113 (pathlib would be hidden machinery)
        return
    with open(file, encoding="utf-8", errors="replace") as opened:  # noqa: PTH123
        source = opened.read()
    for modules, base, several, few in _INNER_IMPORT.findall(source):
        for part in filter(str.strip, modules.split(",")):
            yield part.split()[0]
        if base:
            start = base.lstrip(".")
            level = len(base) - len(start)
            if level:
                around = (vars(module).get("__package__") or "").split(".")
                start = ".".join([*around[: len(around) - level + 1], *filter(None, [start])])
            yield start
            names = re.sub("#.*", "", several or few).split(",")
            yield from (f"{start}.{name.split()[0]}" for name in names if name.strip())


def _may_be_module(name: str) -> bool:
    """Whether importing the name could load a module: not if it is loaded, or is another attribute of a loaded one."""
    parent, _, last = name.rpartition(".")
    holder = sys.modules.get(parent)
    return name not in sys.modules and (holder is None or (last not in vars(holder) and hasattr(holder, "__path__")))


def _describe_adapter_error(cause: BaseException) -> str:
    """The adapter's error as text, to follow the name of its file."""
    from evaluator.sandbox import faults, runner

    if isinstance(cause, runner.UnfitError):
        return f": {cause}"
    where = [f" line {line}, while it was loaded" for line, _ in faults.lines(cause, faults.ADAPTER_NAME)]
    return f"{where[-1] if where else ''}: raised {faults.type_name(cause)}: {faults.message(cause)}"


def _serve(control_fd: int, setup: Any, null: int) -> None:
    import socket

    from evaluator.sandbox import runner

    control = socket.socket(fileno=control_fd)
    candidate = 0
    me = os.getpid()
    while True:
        order, descriptors, _, _ = socket.recv_fds(control, 1, 2)
        if order == SPAWN and not candidate and len(descriptors) == 2:
            candidate = os.fork()
            if candidate == 0:
                try:
                    runner.run(setup, request=descriptors[0], reply=descriptors[1], null=null, parent=me)
                finally:  # it must never return here as a second zygote
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


def _send(control: int, document: dict[str, Any]) -> None:
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
