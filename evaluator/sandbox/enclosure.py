"""Whether bubblewrap really stands around a worker: asked from inside, by trying what must not work there."""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def lure() -> Iterator[dict[str, str]]:
    """Outside: what must not be reached from inside, as the arguments of `check`."""
    name = f"evolve-{os.urandom(8).hex()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bound:
        bound.bind("\0" + name)
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
        yield {"file": os.path.join(package, "task.py"), "socket_name": name}  # noqa: PTH118


def check(*, file: str, socket_name: str) -> None:
    """Try to reach the outside; `file` exists there, and a datagram socket of that abstract name is bound.

    Raises RuntimeError that says what could be reached.
    """
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
