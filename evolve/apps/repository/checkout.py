"""A person's repository: its tracked files at a commit, written into a folder by git. Its files, branches
and index are never changed."""

import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evaluator.untrusted import one_line
from evolve.core.errors import InputError, MachineError

_SIGNED: Final = {
    "GIT_AUTHOR_NAME": "evolve",
    "GIT_AUTHOR_EMAIL": "evolve@localhost",
    "GIT_COMMITTER_NAME": "evolve",
    "GIT_COMMITTER_EMAIL": "evolve@localhost",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """The top folder of a repository, its commit, and whether tracked files differ from that commit."""

    top: Path
    commit: str
    dirty: bool

    def write(self, folder: Path) -> None:
        """Write the tracked files into a folder: at the commit, or with the changes that are not committed. Raises
        InputError."""
        folder = folder.absolute()  # git runs in the top folder
        index = folder.with_name(f"{folder.name}.index")
        files = self.commit
        if self.dirty:
            files = git(self.top, "stash", "create", more=_SIGNED).strip() or self.commit
        try:
            git(self.top, "read-tree", files, more={"GIT_INDEX_FILE": str(index)})
            arguments = ("checkout-index", "--all", "--force", f"--prefix={folder}/")
            git(self.top, *arguments, more={"GIT_INDEX_FILE": str(index)})
        finally:
            index.unlink(missing_ok=True)


def find_repository(path: Path, *, called: str = "--from-repo ", allow_dirty: bool = False) -> Checkout:
    """The repository with this top folder, which is `called` so in messages. Raises InputError where there is none, or
    it has changes that are not committed (unless they are wanted), and MachineError without git."""
    if not path.is_dir():
        raise InputError(f"{called}{one_line(str(path))}: there is no such folder")
    try:
        top = Path(git(path, "rev-parse", "--show-toplevel").strip())
        commit = git(path, "rev-parse", "--verify", "HEAD^{commit}").strip()
    except InputError as cause:
        if (path / ".git").exists() and path.stat().st_uid != os.geteuid():
            raise InputError(
                f"{called}{one_line(str(path))}: belongs to another user, and git refuses that; allow it first: "
                f"git config --global --add safe.directory {shlex.quote(str(path.resolve()))}"
            ) from None
        raise InputError(
            f"{called}{one_line(str(path))}: is no git repository with a commit ({cause}); make one: "
            "`git init`, `git add .`, `git commit`"
        ) from None
    if top.resolve() != path.resolve():
        raise InputError(f"{called}{one_line(str(path))}: is a folder inside a repository; name its top: {top}")
    changed = [line[3:] for line in git(top, "status", "--porcelain", "--untracked-files=no").splitlines()]
    if changed and not allow_dirty:
        shown = ", ".join(one_line(name, 100) for name in changed[:5]) + (", ..." if len(changed) > 5 else "")
        remedy = "commit them, or take them as they are with --dirty" if called else "commit or stash them"
        raise InputError(f"{top}: has changes that are not committed ({shown}); {remedy}")
    return Checkout(top=top, commit=commit, dirty=bool(changed))


def git(
    folder: Path,
    *arguments: str,
    more: dict[str, str] | None = None,
    stdin: str | None = None,
    statuses: tuple[int, ...] = (0,),
) -> str:
    """What git prints, run in a folder. Raises InputError with the line that says why where it ends with another
    status, and MachineError without git."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            ["git", "-C", str(folder.absolute()), *arguments],
            capture_output=True,
            check=False,
            env=environment | (more or {}) | {"LC_ALL": "C"},
            input=None if stdin is None else stdin.encode("utf-8", "surrogateescape"),
        )
    except FileNotFoundError:
        raise MachineError("git is not installed, and `--from-repo` needs it") from None
    if done.returncode not in statuses:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit status {done.returncode}"]
        why = next((line for line in lines if line.startswith("fatal:")), lines[-1])
        raise InputError(f"git {arguments[0]}: {one_line(why, 300)}")
    return done.stdout.decode("utf-8", "surrogateescape")
