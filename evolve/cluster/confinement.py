"""What the processes that unpickle others' messages get: a few environment variables, and no right to write.

The broker, a scheduler that was started here, and the workers have an environment without keys. Broker and scheduler
are confined by Landlock and a filter of system calls: they read the interpreter and its packages and use the network.
They write no file, change none's metadata, and neither start nor signal another process.
"""

import ctypes
import errno
import os
import resource
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import evaluator
from evaluator.errors import SandboxError
from evaluator.sandbox import bubblewrap, jail, landlock
from evaluator.sandbox.seccomp import Filter
from evaluator.sandbox.tree import readable
from evaluator.sandbox.tree_policy import assemble_networked

_KEPT: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "PYTHONPATH")
_TLS: Final = ("CA_FILE", "CLIENT__CERT", "CLIENT__KEY", "WORKER__CERT", "WORKER__KEY")
TLS_VARIABLE: Final = "DASK_DISTRIBUTED__COMM__TLS__"
"""The beginning of the names of the variables that name certificates, by Dask's own settings."""
_SYSTEM: Final = ("/etc/hosts", "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/ssl", "/etc/host.conf", "/etc/gai.conf")
_PROC: Final = "/proc"
"""Dask measures itself there. Landlock keeps the environments of other processes out of reach."""
_MOST_MEMORY: Final = 1 << 30
"""Bytes of the data of one process: a reply of a gigabyte ends in an error there."""


def environment(names: Iterable[str] = ()) -> dict[str, str]:
    """The environment of broker, scheduler and workers: an allow-list, and `names`."""
    wanted = (*_KEPT, *(f"{TLS_VARIABLE}{name}" for name in _TLS), *names)
    kept = {name: os.environ[name] for name in wanted if name in os.environ}
    return kept | {"PYTHONUNBUFFERED": "1", "DASK_CONFIG": "/nonexistent"}


def tls_files(variables: Mapping[str, str]) -> list[Path]:
    """The certificate files that the environment names."""
    return [Path(value) for name, value in variables.items() if name.startswith(TLS_VARIABLE)]


def confine(own: Path | None = None) -> None:
    """Give up every right to write (but in the folder `own`), to start or signal others and to look into them, for
    good. Call it while there is one thread. Raises SandboxError."""
    resource.setrlimit(resource.RLIMIT_DATA, (_MOST_MEMORY, _MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        jail.check_canary()
        jail.drop_capabilities()
        landlock.restrict(_allowed(own), network=True)
        Filter(assemble_networked).install(ctypes.CDLL(None, use_errno=True))
    except OSError as cause:
        raise SandboxError(
            f"a broker unpickles what others send, and cannot be confined here ({cause}): it needs Landlock, which "
            "Linux has from 5.13 on"
        ) from None
    _check()


def _allowed(own: Path | None) -> list[tuple[str, int]]:
    roots = [*map(Path, evaluator.__path__), Path(__file__).parent.parent]
    paths = [*bubblewrap.SYSTEM, *readable(roots), *_SYSTEM, *map(str, tls_files(os.environ)), _PROC, "/sys"]
    devices = [(path, landlock.SENDING) for path in bubblewrap.DEVICES]
    devices += [] if own is None else [(str(own), landlock.OWNING)]
    return [(path, landlock.READING) for path in paths if Path(path).exists()] + devices


def _check() -> None:
    """Raises SandboxError where one of the layers denies nothing."""
    if jail.denied() != errno.EACCES:
        raise SandboxError("Landlock took hold of the broker and denies nothing")
    try:
        os.kill(os.getppid(), 0)
    except PermissionError:
        return
    raise SandboxError("the system call filter took hold of the broker and denies nothing")
