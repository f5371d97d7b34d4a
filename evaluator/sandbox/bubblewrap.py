"""The command lines that start a worker, and a process tree, inside bubblewrap.

A worker gets a read-only root with the interpreter and the task's packages: no network, no processes of the host, no
/proc, no /dev but null, no home. Interpreters may be anywhere (pyenv, uv and conda put them into the home folder), so
their files are named one by one. `--die-with-parent` is not used: it means the *thread* that started bubblewrap, and
workers outlive threads; a worker ends when its socket closes.

A tree sees the system's programs and libraries, and has its own /tmp: a tmpfs of limited size.
"""

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_LIBRARIES: Final = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_PACKAGES: Final = ("site-packages", "dist-packages")


def find() -> str | None:
    """The path of bubblewrap; None when it is not installed."""
    return shutil.which("bwrap")


def command(program: str, interpreter: str, packages: Iterable[Path]) -> list[str]:
    """The command to put before the interpreter's own. `packages` are folders that candidates may import."""
    standard = os.path.dirname(os.__file__)  # noqa: PTH120
    extensions = sysconfig.get_config_var("DESTSHARED") or standard
    package = Path(__file__).resolve().parent
    masked = _package_folders(standard, package.parent.parent)
    # Each candidate becomes nobody, and its worker kills it: without a user namespace only root may do that.
    capabilities = ("CAP_SETUID", "CAP_SETGID", "CAP_KILL") if os.getuid() == 0 else ()
    arguments = [program, *_namespaces(capabilities)]
    for path in _LIBRARIES:
        arguments += _bound(path)
    for path in (standard, extensions, *_libraries_of_the_interpreter(), interpreter, "/etc/ld.so.cache"):
        arguments += _bound(path)
    for folder in masked:
        arguments += ["--tmpfs", folder]
    for folder_or_file in (*packages, package, package.parent / "__init__.py", package.parent / "errors.py"):
        arguments += _bound(str(folder_or_file))
    arguments += ["--dev-bind", "/dev/null", "/dev/null"]
    for folder in (*masked, "/"):
        arguments += ["--remount-ro", folder]  # bubblewrap leaves a tmpfs writable
    return [*arguments, "--chdir", "/", "--"]


SCRATCH: Final = "/tmp/evolve-scratch"
"""The scratch folder of a tree, in its own /tmp. `tree_init` makes it."""
SHARED_MEMORY: Final = "/tmp/.evolve-shm"
"""What /dev/shm means to a tree. `tree_init` makes it."""
SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/libx32")
"""Programs and libraries, which every tree may read."""
_EVALUATOR: Final = Path(__file__).resolve().parent.parent
DEVICES: Final = ("/dev/null", "/dev/urandom", "/dev/random")
"""The devices of a tree. Not /dev/zero: a shared mapping of it is memory that belongs to no process."""


def tree_command(program: str, readable: Iterable[str], *, scratch_mb: int) -> list[str]:
    """The command to put before `tree_init`, which is process 1 and may remove one mount, /proc. `readable` are
    existing paths, parents first, with the interpreter and this package. The evaluator is hidden, held-out suites
    included, except for what `readable` names in it."""
    arguments = [program, *_namespaces(("CAP_SYS_ADMIN",)), "--as-pid-1", "--proc", "/proc"]
    arguments += ["--size", str(scratch_mb << 20), "--tmpfs", "/tmp", "--symlink", f"..{SHARED_MEMORY}", "/dev/shm"]
    hidden: set[str] = set()
    for path in (*SYSTEM, *readable):
        bound = _bound(path)
        arguments += bound
        resolved = Path(path).resolve()
        if "--ro-bind" in bound and _EVALUATOR.is_relative_to(resolved):  # this path shows it, perhaps by another name
            shown = str(path / _EVALUATOR.relative_to(resolved))
            arguments += ["--tmpfs", shown]
            hidden.add(shown)
    for device in DEVICES:
        arguments += ["--dev-bind", device, device]
    for folder in (*sorted(hidden), "/"):
        arguments += ["--remount-ro", folder]
    return [*arguments, "--chdir", "/", "--"]


def _namespaces(capabilities: Iterable[str]) -> list[str]:
    """Namespaces without the host's processes, network and names, and only the capabilities named."""
    arguments = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
    arguments += ["--cap-drop", "ALL"]
    for capability in capabilities:
        arguments += ["--cap-add", capability]
    return arguments if os.getuid() == 0 else [*arguments, "--unshare-user"]


def _package_folders(standard: str, own: Path) -> list[str]:
    """Folders with installed packages that candidates would see: the interpreter's, Debian's (/usr/lib/python3), pip's
    in /usr/local, and the one with this package. None of them is inside another."""
    folders = {Path(standard, name) for name in _PACKAGES}
    for library in _LIBRARIES:
        for name in _PACKAGES:
            folders.update(Path(library).glob(f"python3*/{name}"))
    if any(own.is_relative_to(place) for place in (*_LIBRARIES, standard)):
        folders.add(own)
    existing = {folder.resolve() for folder in folders if folder.is_dir()}
    return [str(folder) for folder in sorted(existing) if existing.isdisjoint(folder.parents)]


def interpreter() -> str:
    """The interpreter itself, behind the links of a virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def _libraries_of_the_interpreter() -> list[str]:
    """Shared libraries of an interpreter outside the system's folders (conda, --enable-shared)."""
    folder = Path(sys.base_prefix) / "lib"
    if str(folder) in _LIBRARIES:
        return []
    return sorted(str(path) for path in folder.glob("*.so*"))


def _bound(path: str) -> list[str]:
    if not os.path.lexists(path):
        return []
    if path in (*_LIBRARIES, *SYSTEM) and os.path.islink(path):  # noqa: PTH114
        return ["--symlink", os.readlink(path), path]  # noqa: PTH115
    return ["--ro-bind", path, path]
