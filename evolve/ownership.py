"""Which runs this user began, or has trusted, on this machine: a file for each under the user's state folder.

A file is named after the random id that a run gets when it is begun, and holds a digest of what the run's configuration
named each time: an archive that was given away and comes back with another endpoint is somebody else's again.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

_MOST = 1024 * 1024


def is_known(run_id: str | None, things: Sequence[str]) -> bool:
    """Whether a run that names these `things` outside of the package was begun or trusted here."""
    if run_id is None:
        return False
    try:
        descriptor = os.open(_folder() / run_id, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            return _digest(things).encode("ascii") in file.read(_MOST).split()
    except (OSError, RuntimeError):  # never noted here, or there is no home
        return False


def remember(run_id: str | None, things: Sequence[str]) -> str | None:
    """Note that a run that names these `things` is this user's. Returns, in one sentence, why that cannot be noted; no
    run ends for it."""
    if run_id is None or is_known(run_id, things):
        return None
    try:
        folder = _folder()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK
        descriptor = os.open(folder / run_id, flags, 0o600)
        try:
            os.write(descriptor, f"{_digest(things)}\n".encode("ascii"))
        finally:
            os.close(descriptor)
    except (OSError, RuntimeError) as cause:
        why = (cause.strerror if isinstance(cause, OSError) else None) or str(cause)
        return (
            f"that this run is yours could not be noted ({why}); `resume` will ask before it uses what the run names. "
            "Set XDG_STATE_HOME to a folder that can be written"
        )
    return None


def _folder() -> Path:
    """Where it is noted. Raises RuntimeError when the user has no home."""
    named = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".local" / "state") / "evolve" / "runs"


def _digest(things: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(things).encode("utf-8", "surrogatepass")).hexdigest()
