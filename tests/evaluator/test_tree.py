"""What a command in the sandbox of process trees finds, what comes back of it, and who may not run at all."""

import contextlib
import io
import os
import signal
import subprocess
import tarfile
from pathlib import Path

import pytest
from trees import LIMITS, ROOT, USERS, at_both_levels, at_one_level, elsewhere, run, sandbox_of

from evaluator.errors import SandboxError
from evaluator.evaluation import Outcome
from evaluator.sandbox import bubblewrap, landlock
from evaluator.sandbox.layers import OF_CANDIDATE
from evaluator.sandbox.options import SandboxOptions
from evaluator.sandbox.probe import probe_scripts
from evaluator.sandbox.tree import TreeEnding, TreeJob, establish_tree
from evaluator.sandbox.turns import Cancellation
from evaluator.task import Limits


def shell(level: str, command: str, **job: object) -> TreeEnding:
    settings: dict[str, object] = {"argv": ("/bin/sh", "-c", command), "result": "result", **job}
    return sandbox_of(level).run(TreeJob(**settings), Limits(**LIMITS), Cancellation())  # type: ignore[arg-type]


@at_one_level
def test_a_command_works_in_its_scratch_folder(level: str) -> None:
    ending = shell(
        level,
        'test "$(pwd)" = "$HOME" && test "$HOME" = "$TMPDIR" && cat in/one two > result && cat "$WHERE"',
        files={"in/one": b"1", "two": b"\x00\xff"},
        environment={"WHERE": "{scratch}/in/one"},
    )
    assert (ending.outcome, ending.status, ending.detail) == (Outcome.OK, 0, "")
    assert ending.result == b"1\x00\xff"
    assert ending.output == "1"
    assert ending.wall_s > 0


@at_one_level
def test_a_script_has_the_packages_of_the_interpreter(level: str) -> None:
    ending = run(level, "import numpy, subprocess\nopen('result', 'w').write(subprocess.getoutput('echo hi'))")
    assert (ending.outcome, ending.result) == (Outcome.OK, b"hi"), ending.output


@at_one_level
def test_the_environment_is_what_is_said_and_no_more(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "sk-1234")
    ending = shell(level, "/usr/bin/env", environment={"NAMED": "value"})
    names = {line.partition("=")[0] for line in ending.output.splitlines()}
    assert names - {"PWD", "OLDPWD", "SHLVL", "_"} == {
        *("PATH", "HOME", "TMPDIR", "LC_ALL", "EVOLVE_RESULT_FD", "NAMED"),
        *("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"),
    }


@pytest.mark.skipif(bubblewrap.find() is None, reason="no bubblewrap")
def test_the_evaluator_stays_hidden_below_several_readable_folders(tmp_path: Path) -> None:
    """An environment and its site-packages are two such folders; a link to one of them is a third."""
    (tmp_path / "link").symlink_to(ROOT)
    places = (ROOT, ROOT / "evaluator", tmp_path / "link")
    looks = f"ls {ROOT}/evaluator; echo; ls {tmp_path}/link/evaluator; ls {tmp_path}/link/evolve"
    ending = shell("strong", looks, readable=places, result="")
    own, _, by_link = ending.output.partition("\n\n")
    assert own.split() == ["__init__.py", "errors.py", "sandbox"]
    assert by_link.split() == sorted(path.name for path in (ROOT / "evolve").iterdir())


@at_both_levels
def test_archives_are_unpacked_over_each_other_before_anything_counts(level: str, tmp_path: Path) -> None:
    for name, texts in (("first", {"tree/run": "exit 1", "tree/in/kept": "kept"}), ("second", {"tree/run": "exit 0"})):
        with tarfile.open(tmp_path / name, "w") as packed:
            for path, text in texts.items():
                member = tarfile.TarInfo(path)
                member.size, member.mode, member.mtime = len(text), 0o755, 1_000_000_000
                packed.addfile(member, io.BytesIO(text.encode()))
            link = tarfile.TarInfo("tree/link")
            link.type, link.linkname = tarfile.SYMTYPE, "in/kept"
            packed.addfile(link)
    archives = (tmp_path / "first", tmp_path / "second")
    ending = shell(level, "test -x tree/run && sh tree/run && cat tree/link > result", archives=archives)
    assert (ending.outcome, ending.result) == (Outcome.OK, b"kept"), ending.output


@at_both_levels
def test_an_archive_that_leads_elsewhere_does_not_get_there(level: str, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "packed", "w") as packed:
        member = tarfile.TarInfo(f"{tmp_path}/outside")
        packed.addfile(member, io.BytesIO())
    with contextlib.suppress(SandboxError):  # at `strong` there is a folder of that name, inside
        shell(level, "true", archives=(tmp_path / "packed",))
    assert not (tmp_path / "outside").exists()


@at_both_levels
def test_only_the_command_is_measured(level: str, tmp_path: Path) -> None:
    content = os.urandom(1 << 20)
    with tarfile.open(tmp_path / "packed", "w") as packed:
        for number in range(40):
            member = tarfile.TarInfo(f"tree/{number}")
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    endings = [shell(level, "true", archives=archives) for archives in ((), (tmp_path / "packed",))]
    assert [ending.outcome for ending in endings] == [Outcome.OK, Outcome.OK]
    assert endings[1].peak_memory_mb < 40


@at_one_level
def test_what_is_readable_is_read_and_not_written(level: str, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("data")
    ending = shell(level, f"cat {tmp_path}/data > result; echo x > {tmp_path}/data", readable=(tmp_path,))
    assert (ending.outcome, ending.result) == (Outcome.EXITED, b"data")
    assert (tmp_path / "data").read_text() == "data"
    assert shell(level, f"cat {tmp_path}/data").outcome is Outcome.EXITED


@at_one_level
def test_how_it_ended_is_said(level: str) -> None:
    ending = shell(level, "echo partly > result; exit 3")
    assert (ending.outcome, ending.status, ending.detail) == (Outcome.EXITED, 3, "it ended with exit status 3")
    assert ending.result == b"partly\n"
    ending = shell(level, "kill -SEGV $$")
    assert (ending.outcome, ending.status, ending.detail) == (Outcome.CRASH, -signal.SIGSEGV, "it died of SIGSEGV")
    ending = shell(level, "true")
    assert (ending.outcome, ending.result) == (Outcome.OK, None)


@at_one_level
def test_what_cannot_be_started_ends_like_in_a_shell(level: str) -> None:
    ending = shell(level, "", argv=("{scratch}/program",))
    assert (ending.outcome, ending.status) == (Outcome.EXITED, 127)
    assert "program cannot be started: No such file or directory" in ending.output
    assert shell(level, "", argv=("{scratch}/program",), files={"program": b""}).status == 126


@at_one_level
@pytest.mark.parametrize(
    "what",
    [
        "cd ..; rm -r evolve-scratch; ln -s /etc evolve-scratch; true",
        "ln -s /etc/passwd result",
        "mkdir result",
        "mkfifo result",
        "ln -s . up; true",
    ],
)
def test_a_result_is_a_file_and_no_link(level: str, what: str) -> None:
    ending = shell(level, what, result="up/result" if "up" in what else "result")
    assert (ending.outcome, ending.result) == (Outcome.OK, None)


@at_one_level
def test_a_program_that_was_made_there_runs_there(level: str) -> None:
    """At `standard` no mode can be changed, and one that is given at the start holds."""
    text = "import os\nfd = os.open('p', os.O_WRONLY | os.O_CREAT, 0o755)\n"
    text += "os.write(fd, b'#!/bin/sh\\necho ran')\nos.close(fd)\n"
    assert run(level, text + "print(os.system('./p'))").output.splitlines() == ["ran", "0"]


def test_the_strongest_that_holds_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if bubblewrap.find() is not None:
        assert establish_tree().level == "strong"
    monkeypatch.setenv("PATH", str(tmp_path))
    if landlock.version() >= 6:
        found = establish_tree()
        assert (found.level, "landlock" in found.layers) == ("standard", True)
    with pytest.raises(SandboxError, match=r"strong is required.*bubblewrap is not installed.*apt-get install"):
        establish_tree(SandboxOptions(require_level="strong"))
    with pytest.raises(SandboxError, match=r"no sandbox level 'total'"):
        establish_tree(SandboxOptions(require_level="total"))


def test_without_bubblewrap_and_scopes_nothing_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A kernel before 6.12: its Landlock lets signals out."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(landlock, "version", lambda: 5)
    with pytest.raises(SandboxError, match=r"bubblewrap is not installed.*from 6\.12 on.*--unsafe-no-sandbox"):
        establish_tree()
    assert establish_tree(SandboxOptions(unsafe=True)).level == "none"


@pytest.mark.skipif(bubblewrap.find() is None, reason="no bubblewrap")
def test_a_bubblewrap_that_encloses_nothing_is_found_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    impostor = tmp_path / "bwrap"
    impostor.write_text('#!/bin/sh\nwhile [ "$1" != "--" ]; do shift; done; shift\nexec "$@"\n')
    impostor.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(SandboxError, match=r"bubblewrap is around the worker, and yet .*task\.py can be seen"):
        establish_tree(SandboxOptions(require_level="strong"))


def test_the_process_around_a_tree_loads_little() -> None:
    """Every candidate pays for it."""
    code = "import sys; import evaluator.sandbox.tree_init; print(*sys.modules)"
    command = [bubblewrap.interpreter(), "-s", "-S", "-B", "-c", code]
    loaded = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.split()
    assert "evaluator.sandbox.tree_run" in loaded
    assert not {"dataclasses", "inspect", "pathlib", "platform", "shutil", "subprocess", "asyncio"} & set(loaded)


def test_every_layer_is_seen_to_work_on_scripts() -> None:
    states = {check.name: check for check in probe_scripts()}
    assert list(states) == ["scripts", *(f"scripts: {layer}" for layer in (*OF_CANDIDATE, "bubblewrap"))]
    for name in ("limits", "privileges", "seccomp"):
        assert states[f"scripts: {name}"].state == "ok", states
    assert "network" in states["scripts: seccomp"].detail
    if landlock.version() >= 6:
        assert "processes of the user" in states["scripts: landlock"].detail
    if bubblewrap.find() is not None:
        assert "files of the host, processes of the host, /proc" in states["scripts: bubblewrap"].detail


LOCKS = """
import fcntl, mmap, os, threading
with open("own", "w+b") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    ready, done = os.pipe()
    child = os.fork()
    if child == 0:
        with open("own", "r+b") as other:
            try:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.write(done, b"held ")
            fcntl.flock(other, fcntl.LOCK_EX)
            fcntl.lockf(other, fcntl.LOCK_EX)
            os._exit(0)
    held = os.read(ready, 5)
    fcntl.flock(file, fcntl.LOCK_UN)
    os.waitpid(child, 0)
    file.truncate(4096)
    mmap.mmap(file.fileno(), 4096)[:4] = b"file"
mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE)
try:
    mmap.mmap(-1, 4096)
except PermissionError:
    held += b"refused "
lock = threading.Lock()
lock.acquire()
thread = threading.Timer(0.01, lock.release)
thread.start()
lock.acquire(timeout=10)
thread.join()
open("result", "wb").write(held + open("own", "rb").read(4))
"""


@at_one_level
def test_locks_and_memory_of_its_own_work(level: str) -> None:
    """Shared memory needs a file."""
    ending = run(level, LOCKS)
    assert (ending.outcome, ending.result) == (Outcome.OK, b"held refused file"), ending.output


@pytest.mark.slow
@pytest.mark.skipif(landlock.version() < landlock.SCOPED_SINCE, reason="no Landlock with scopes")
def test_landlock_is_seen_to_work_for_an_ordinary_user() -> None:
    """The kernel lets nobody but root use it without giving up new privileges first."""
    state, detail = elsewhere(USERS[-1], "layers.py")["scripts: landlock"]
    assert (state, "processes of the user" in detail) == ("ok", True), detail
