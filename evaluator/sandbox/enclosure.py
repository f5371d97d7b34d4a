"""Tests from inside whether bubblewrap confines a process, by trying what must fail."""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def lure() -> Iterator[dict[str, str]]:
    """Outside: a file and a socket that must be out of reach inside, as the arguments of `check`."""
    name = f"evolve-{os.urandom(8).hex()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind("\0" + name)
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
        yield {"file": os.path.join(package, "task.py"), "socket_name": name}  # noqa: PTH118


def check(*, file: str, socket_name: str) -> None:
    """Inside: try to reach that file and that abstract socket, among others. Raises RuntimeError that names what was
    reached."""
    if os.path.lexists(file):
        raise RuntimeError(f"bubblewrap is around the worker, and yet {file} can be seen")
    try:
        os.close(os.open("/canary", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC))
    except OSError as refusal:
        if refusal.errno != errno.EROFS:
            raise RuntimeError(f"the root is expected to be read-only, and a write ends with {refusal}") from None
    else:
        raise RuntimeError("bubblewrap is around the worker, and yet its root can be written")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect("\0" + socket_name)
        except OSError:
            pass
        else:
            raise RuntimeError("bubblewrap is around the worker, and yet it shares the network of the harness")
    if os.getpid() > 9:
        raise RuntimeError("bubblewrap is around the worker, and yet it shares the process ids of the harness")
