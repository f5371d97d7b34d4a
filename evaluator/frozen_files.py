"""Which files of a repository no program may change: what decides whether it is right, and how fast it is. Pure."""

import re
import shlex
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Final

_NAMES: Final = {
    "a test": ("test_*", "*_test.*", "*.test.*", "*_tests.*", "*.spec.*", "conftest.py"),
    "loaded by Python before everything else": ("sitecustomize.py", "usercustomize.py", "*.pth"),
    "configuration": (
        "*.toml",
        "*.ini",
        "*.cfg",
        "package.json",
        "tsconfig*.json",
        ".*",
        "go.mod",
        "requirements*.txt",
    ),
    "a lock file": ("*.lock", "package-lock.json", "go.sum"),
    "a build script": (
        *(
            "setup.py",
            "noxfile.py",
            "build.rs",
            "CMakeLists.txt",
            "*.cmake",
            "meson.build",
            "configure",
            "configure.ac",
        ),
        *("Makefile", "makefile", "GNUmakefile", "*.mk", "BUILD", "BUILD.bazel", "Dockerfile", "Jenkinsfile"),
    ),
}
_FOLDERS: Final = {"test", "tests", "testing", "__tests__", "spec"}
_WORD: Final = re.compile(r"[^\s;&|()<>\"'$`]+")


def why_frozen(path: str, commands: Iterable[str]) -> str | None:
    """Why a file may not change, in words that follow "it is"; None where it may. `commands` are those of the task."""
    pure = PurePosixPath(path)
    if {part.lower() for part in pure.parts[:-1]} & _FOLDERS:
        return "a test"
    for why, patterns in _NAMES.items():
        if any(fnmatchcase(pure.name, pattern) for pattern in patterns):
            return why
    if any(_names(command, pure) for command in commands):
        return "run by one of the commands"
    return None


def _names(command: str, path: PurePosixPath) -> bool:
    """Whether a word of a command is the file, its module, or something in it (`a.py::test_b`, `a.TestB`)."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    words += _WORD.findall(command)
    module = ".".join(path.with_suffix("").parts)
    return any(
        PurePosixPath(word.partition("::")[0]) == path or word == module or word.startswith(f"{module}.")
        for word in words
    )
