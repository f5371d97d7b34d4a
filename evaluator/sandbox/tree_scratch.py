"""A scratch folder: filling it, how much it holds, reading a result, removing it. Nothing in it is believed: links are
not followed, and folders may be as deep as they like."""

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from typing import Final

NAME_BYTES: Final = 4096
"""What a file, a folder or a link counts for at least, since the machine pays for that too."""
_DEEPEST: Final = 64
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class TooDeepError(Exception):
    """Raised when folders lie in each other deeper than they are looked at."""


def fill(folder: str, files: Mapping[str, bytes]) -> None:
    """Write files by their paths relative to the folder, which is empty. Raises OSError."""
    for name, content in files.items():
        path = os.path.join(folder, name)  # noqa: PTH118 (pathlib takes as long to load as the rest)
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        with open(path, "xb") as file:  # noqa: PTH123
            file.write(content)


def result(folder: str, name: str, most: int) -> tuple[bytes | None, bool]:
    """The bytes of a file in the folder (None where there is no such file, or it is none) and whether it has more than
    `most` (then None too)."""
    *parents, last = name.split("/")
    place = os.open(folder, _FOLDER)
    try:
        for parent in parents:
            inner = os.open(parent, _FOLDER, dir_fd=place)
            os.close(place)
            place = inner
        file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
    except OSError:
        return None, False
    finally:
        os.close(place)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        return None, False
    with open(file, "rb") as opened:  # noqa: PTH123
        content = opened.read(most + 1)
    return (None, True) if len(content) > most else (content, False)


def used_bytes(folder: str, most: int) -> int:
    """Bytes of what is in a folder, `NAME_BYTES` for each name at least; no more is looked at once it is over `most`.
    Raises TooDeepError."""
    total = 0
    seen: set[int] = set()
    for found in _walk(folder):
        named_twice = found.st_nlink > 1 and found.st_ino in seen
        seen.add(found.st_ino)
        total += NAME_BYTES if named_twice else max(NAME_BYTES, found.st_blocks * 512)
        if total > most:
            break
    return total


def _walk(folder: str) -> Iterator[os.stat_result]:
    """What is in a folder, at any depth that is allowed; what goes away meanwhile is left out."""
    stack = [os.open(folder, _FOLDER)]
    names = [iter(os.listdir(stack[0]))]  # noqa: PTH208 (of a descriptor)
    try:
        while stack:
            name = next(names[-1], None)
            if name is None:
                names.pop()
                os.close(stack.pop())
                continue
            with contextlib.suppress(OSError):
                found = os.stat(name, dir_fd=stack[-1], follow_symlinks=False)
                yield found
                if stat.S_ISDIR(found.st_mode):
                    if len(stack) > _DEEPEST:
                        raise TooDeepError(f"folders more than {_DEEPEST} deep in the scratch folder")
                    inner = _opened(name, stack[-1])
                    stack.append(inner)
                    names.append(iter(os.listdir(inner)))  # noqa: PTH208 (of a descriptor)
    finally:
        for place in stack:
            os.close(place)


def remove(folder: str) -> None:
    """Remove a scratch folder that no process uses any more, whatever is in it. Raises OSError.

    Folders inside are moved to the top before they are emptied, so that none is too deep for a path.
    """
    top = _opened(folder, None)
    try:
        count, token = 0, f"\x01{os.urandom(8).hex()}-"
        while names := os.listdir(top):  # noqa: PTH208 (of a descriptor)
            for name in names:
                if not stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
                    os.unlink(name, dir_fd=top)
                    continue
                with contextlib.suppress(OSError):  # it is not empty
                    os.rmdir(name, dir_fd=top)
                    continue
                inner = _opened(name, top)
                try:
                    for below in os.listdir(inner):  # noqa: PTH208 (of a descriptor)
                        if stat.S_ISDIR(os.stat(below, dir_fd=inner, follow_symlinks=False).st_mode):
                            os.close(_opened(below, inner))  # to move a folder is to write into it
                            count += 1
                            os.rename(below, f"{token}{count}", src_dir_fd=inner, dst_dir_fd=top)
                        else:
                            os.unlink(below, dir_fd=inner)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    os.rmdir(folder)  # noqa: PTH106


def _opened(name: str, place: int | None) -> int:
    """A folder that is there, made readable and writable if it is not. Links are not followed."""
    there = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place)
    try:
        if os.fstat(there).st_mode & 0o700 != 0o700:
            os.chmod(f"/proc/self/fd/{there}", 0o700)  # noqa: PTH101 (the folder itself, whatever its name is now)
    finally:
        os.close(there)
    return os.open(name, _FOLDER, dir_fd=place)
