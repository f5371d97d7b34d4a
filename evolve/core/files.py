"""Files that a user names, read and written; each error is one sentence."""

import errno
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import decode_source
from pathlib import Path

from evaluator.evaluation import Evaluation, Outcome
from evaluator.program_files import Files
from evaluator.task import Task
from evaluator.untrusted import one_line
from evolve.core.errors import InputError, MachineError
from evolve.lang.languages import PYTHON, TEXT, language_of

FREE_DISK_MB = 64
"""The least free space for a run to begin, so that it does not end in the middle."""


def read_source(path: Path) -> str:
    """The program in a file, decoded as Python does it; another language's (by its suffix) as UTF-8. Raises InputError
    when it cannot be read, or MachineError for the disk.

    A Python file that cannot be decoded is a program that does not load: its odd bytes become surrogates.
    """
    if language_of(path) not in (PYTHON, TEXT):
        return read_text(path)
    content = _read(path)
    try:
        return decode_source(content)
    except (SyntaxError, UnicodeDecodeError):
        return content.decode("utf-8", "surrogateescape")


def read_program(path: Path, task: Task) -> Files:
    """The program in a file, or in a folder where programs have several. Raises InputError when it cannot be read, or
    MachineError for the disk; TaskError for a folder."""
    if task.program_folder is not None:
        if not path.is_dir():
            raise InputError(f"{_shown(path)}: a program of the task {task.name!r} is a folder of files; name a folder")
        return replace(task.program_folder, folder=path.absolute()).read()
    return Files.single(task.program_name, read_source(path))


def explain_undecodable(program: Files, evaluation: Evaluation) -> Evaluation:
    """`evaluation` of a program from `read_program`, with the first byte that is not text as its detail, if any."""
    if len(program) > 1:
        return evaluation
    source = program.only
    broken = next((i for i, c in enumerate(source) if "\ud800" <= c <= "\udfff"), None)
    if broken is None or evaluation.outcome is not Outcome.LOAD_ERROR:
        return evaluation
    byte = len(source[:broken].encode("utf-8", "surrogateescape"))
    return replace(evaluation, detail=f"not text: byte {byte} of the file is not UTF-8 (nor what its coding line says)")


def read_text(path: Path) -> str:
    """The text in a file, its line ends kept. Raises InputError when it cannot be read or is not UTF-8,
    or MachineError for the disk."""
    try:
        return _read(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{_shown(path)}: not UTF-8 text (byte {error.start}); save it as UTF-8") from None


def require_writable(path: Path | None, *, overwrite: bool) -> None:
    """Refuse a file that `write_file` would refuse, before work is done for it (None: no file). Raises InputError,
    or MachineError for the disk."""
    if path is None:
        return
    with _errors_as_ours(path, "written"):
        if path.is_dir():
            raise InputError(f"{_shown(path)} is a folder; name a file")
        if path.exists() and not overwrite:
            raise _exists(path)
        if not path.parent.is_dir():
            raise InputError(f"{_shown(path)} cannot be written (there is no folder {_shown(path.parent)})")


def write_file(path: Path, content: bytes, *, overwrite: bool) -> None:
    """Write a file, which must be new unless it may be overwritten. Raises InputError, or MachineError for the disk."""
    with _errors_as_ours(path, "written"):
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(f"{_shown(path)} is not a file, so it cannot be written")  # opening a pipe waits for ever
        try:
            with path.open("wb" if overwrite else "xb") as file:
                file.write(content)
        except FileExistsError:
            raise _exists(path) from None


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Make a folder with these files (`sub/name` in a folder of their own); it must be new. Raises InputError, or
    MachineError for the disk."""
    with _errors_as_ours(folder, "made"):
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            raise InputError(f"{_shown(folder)} exists already; choose another folder") from None
    for name, content in files.items():
        with _errors_as_ours((folder / name).parent, "made"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_file(folder / name, content, overwrite=False)


def write_program(path: Path, files: Files, *, several: bool, overwrite: bool) -> None:
    """Write a program: a file, or a new folder where programs have `several`. Raises InputError, or MachineError for
    the disk."""
    if several:
        write_folder(path, {name: text.encode("utf-8", "surrogatepass") for name, text in files.items()})
    else:
        write_file(path, files.only.encode("utf-8", "surrogatepass"), overwrite=overwrite)


def _read(path: Path) -> bytes:
    with _errors_as_ours(path, "read"):
        if path.exists() and not path.is_file():
            raise InputError(f"{_shown(path)} is not a file, so it cannot be read")
        return path.read_bytes()


@contextmanager
def _errors_as_ours(path: Path, action: str) -> Iterator[None]:
    """Turn an error of the body into an InputError (MachineError for a full or broken disk): `path` could not be
    `action`, and why."""
    try:
        yield
    except (OSError, ValueError) as cause:
        code, reason = (cause.errno, cause.strerror) if isinstance(cause, OSError) else (None, None)
        kind = MachineError if code in (errno.ENOSPC, errno.EDQUOT, errno.EIO) else InputError
        raise kind(f"{_shown(path)}: cannot be {action} ({reason or cause})") from None


def _exists(path: Path) -> InputError:
    return InputError(f"{_shown(path)} exists already; choose another file, or overwrite it with --force")


def _shown(path: Path) -> str:
    return one_line(str(path))


def nearest(path: Path) -> Path:
    """The path, or its nearest parent that exists."""
    return next(place for place in (path.absolute(), *path.absolute().parents) if place.exists())


def require_disk(folder: Path) -> None:
    """Raise MachineError when too little disk space is free."""
    existing = nearest(folder)
    free = shutil.disk_usage(existing).free // 2**20
    if free < FREE_DISK_MB:
        raise MachineError(
            f"{existing}: no disk space: {free} MB are free, {FREE_DISK_MB} MB are needed; make room or run elsewhere"
        )
