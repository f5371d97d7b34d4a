"""Where the data folders lie that ship with the packages, and how `task.yaml` names its parts.

In a checkout `programs/` and `prompts/` lie next to the two packages. An installed wheel holds them inside this
package, so that site-packages holds nothing but the packages.
"""

from pathlib import Path
from typing import Final

from evaluator.errors import TaskError

_PACKAGE: Final = Path(__file__).resolve().parent
_INSTALLED: Final = _PACKAGE / "_data"
_DATA: Final = _INSTALLED if _INSTALLED.is_dir() else _PACKAGE.parent

PROGRAMS: Final = _DATA / "programs"
"""Initial programs, baselines and ingredients of the tasks that ship."""
TEMPLATES: Final = PROGRAMS / "templates"
"""What `evolve new` copies, a folder for each kind of task."""
PROMPTS: Final = _DATA / "prompts"
"""The templates, and the texts of the tasks that ship."""
DEFAULT_TASK: Final = "placement"
"""The task where none is named."""
_SHIPPED: Final = {"programs:": PROGRAMS, "prompts:": PROMPTS}


def resolve_path(name: str, *, folder: Path) -> Path:
    """The path that `name` means in a file of `folder`: `programs:placement/initial.py`, `prompts:tasks/placement.md`,
    or a path relative to that folder."""
    for prefix, shipped in _SHIPPED.items():
        if name.startswith(prefix):
            return shipped / name.removeprefix(prefix)
    return (folder / name).resolve()


def is_shipped(name: str) -> bool:
    """Whether `name` means a file that ships, wherever the packages are installed."""
    return name.startswith(tuple(_SHIPPED))


def content_of(path: Path) -> bytes:
    """The bytes of a file. Raises TaskError."""
    try:
        return path.read_bytes()
    except OSError as cause:
        raise TaskError(f"{path}: cannot be read ({cause.strerror})") from None


def source_of(path: Path, what: str) -> str:
    """The text of a file. Raises TaskError, which says `what` it is."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as cause:
        raise TaskError(f"{path}: {what} cannot be read ({cause.strerror})") from None
    except UnicodeDecodeError as cause:
        raise TaskError(f"{path}: {what} is not UTF-8 text (byte {cause.start})") from None
