"""A scratch folder: fills it, measures it, reads a result, removes it. Its content is untrusted: links are not
followed, and folders may be nested to any depth."""

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping
from typing import Final

NAME_BYTES: Final = 4096
"""Bytes that every file, folder or link counts for at least: a name costs memory, too."""
_DEEPEST: Final = 64
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class TooDeepError(Exception):
    """Raised when folders are nested too deeply to measure."""


def fill(folder: str, files: Mapping[str, bytes]) -> None:
    """Write files into the empty folder, by relative path. Raises OSError."""
    for name, content in files.items():
        path = os.path.join(folder, name)  # noqa: PTH118 (pathlib takes as long to load as the rest)
        os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
        with open(path, "xb") as file:  # noqa: PTH123
            file.write(content)


def unpack(archive: str, folder: str) -> None:
    """Unpack folders, files and links of a tar file into a folder, over what is there. Called by a confined process:
    an archive that leads elsewhere is refused by the kernel. Raises OSError and tarfile.TarError."""
    import tarfile  # takes long to load, and few runs need it

    with tarfile.open(archive) as packed:
        for member in packed:
            path = os.path.join(folder, member.name)  # noqa: PTH118
            if member.isdir():
                os.makedirs(path, exist_ok=True)  # noqa: PTH103
                continue
            os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)  # noqa: PTH108
            if member.issym():
                os.symlink(member.linkname, path)  # noqa: PTH211
            elif member.islnk():
                os.link(os.path.join(folder, member.linkname), path)  # noqa: PTH118
            elif (content := packed.extractfile(member)) is not None:
                # The mode at creation: where there is no bubblewrap, nothing may change it later.
                place = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, member.mode & 0o755 | 0o600)
                with open(place, "wb") as file:  # noqa: PTH123
                    while chunk := content.read(1 << 20):
                        file.write(chunk)
                with contextlib.suppress(OSError):  # the same
                    os.utime(path, (member.mtime, member.mtime))


def result(folder: str, name: str, most: int) -> tuple[bytes | None, bool]:
    """(bytes of a file in the folder, whether it has more than `most`); the bytes are None if it has more, or is not a
    regular file."""
    *parents, last = name.split("/")
    place = -1
    try:
        place = os.open(folder, _FOLDER)
        for parent in parents:
            inner = os.open(parent, _FOLDER, dir_fd=place)
            os.close(place)
            place = inner
        file = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=place)
    except OSError:
        return None, False
    finally:
        if place >= 0:
            os.close(place)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        return None, False
    with open(file, "rb") as opened:  # noqa: PTH123
        content = opened.read(most + 1)
    return (None, True) if len(content) > most else (content, False)


def used_bytes(folder: str, most: int) -> int:
    """Bytes of everything in a folder, at least `NAME_BYTES` for each name; stops counting above `most`. Raises
    TooDeepError."""
    total = 0
    seen: set[int] = set()
    for entry in _walk(folder):
        named_twice = entry.st_nlink > 1 and entry.st_ino in seen
        seen.add(entry.st_ino)
        total += NAME_BYTES if named_twice else max(NAME_BYTES, entry.st_blocks * 512)
        if total > most:
            break
    return total


def _walk(folder: str) -> Iterator[os.stat_result]:
    """Everything in a folder, up to the deepest level, without what disappears meanwhile. Raises TooDeepError."""
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
                entry = os.stat(name, dir_fd=stack[-1], follow_symlinks=False)
                yield entry
                if stat.S_ISDIR(entry.st_mode):
                    if len(stack) > _DEEPEST:
                        raise TooDeepError(f"folders more than {_DEEPEST} deep in the scratch folder")
                    inner = _opened(name, stack[-1])
                    stack.append(inner)
                    names.append(iter(os.listdir(inner)))  # noqa: PTH208 (of a descriptor)
    finally:
        for place in stack:
            os.close(place)


def remove(folder: str) -> None:
    """Remove a scratch folder that no process uses any more. Raises OSError. Folders inside are moved to the top before
    they are emptied, so that none is too deep for a path."""
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
    """A descriptor of an existing folder, made readable and writable if it is not. Links are not followed."""
    there = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place)
    try:
        if os.fstat(there).st_mode & 0o700 != 0o700:
            os.chmod(f"/proc/self/fd/{there}", 0o700)  # noqa: PTH101 (the folder itself, whatever its name is now)
    finally:
        os.close(there)
    return os.open(name, _FOLDER, dir_fd=place)
