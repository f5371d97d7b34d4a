"""Which level is reached, by which user and where; what is refused, in one sentence; what each layer stops."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import evaluator
from evaluator.errors import SandboxError
from evaluator.evaluator import SandboxedEvaluator
from evaluator.sandbox import bubblewrap, levels
from evaluator.sandbox.layers import LEVELS, OF_CANDIDATE, level_of
from evaluator.sandbox.options import Confinement, SandboxOptions
from evaluator.sandbox.probe import probe_candidates
from evaluator.sandbox.turns import Cancellation
from evaluator.task import Task
from tests.builders import one_file

ROOT = Path(evaluator.__file__).parent.parent
HONEST = "def smallest(items):\n    return items.index(min(items))\n"
needs_bubblewrap = pytest.mark.skipif(bubblewrap.find() is None, reason="bubblewrap is not installed")
SCORE = textwrap.dedent(
    """
    import json, os, sys
    from evaluator.evaluator import SandboxedEvaluator
    from evaluator.program_files import Files
    from evaluator.task_files import load_task
    task = load_task(sys.argv[1])
    with SandboxedEvaluator(task, task.suite(), workers=1) as evaluator:
        evaluation = evaluator.evaluate(Files.single("program.py", sys.argv[2]))
        spy = "import os\\ndef smallest(items):\\n    raise ValueError(os.getuid())\\n"
        spy = evaluator.evaluate(Files.single("program.py", spy))
    print(json.dumps([os.getuid(), evaluator.sandbox, evaluation.correct, evaluation.detail, spy.results[0].detail]))
    """
)


def test_levels_follow_from_layers() -> None:
    assert level_of(OF_CANDIDATE) == "standard"
    assert level_of((*OF_CANDIDATE, "bubblewrap")) == "strong"
    assert level_of(("limits", "privileges", "seccomp")) == "standard"
    assert level_of(("limits", "privileges", "landlock")) == "none"
    assert level_of(("bubblewrap", "landlock")) == "none"
    assert LEVELS == ("none", "standard", "strong")


@needs_bubblewrap
def test_with_bubblewrap_the_level_is_strong(smallest: Task) -> None:
    with SandboxedEvaluator(
        smallest, smallest.suite(), workers=1, confined=SandboxOptions(require_level="strong")
    ) as evaluator:
        assert evaluator.sandbox == "strong"
        evaluation = evaluator.evaluate(one_file(HONEST))
    assert evaluation.correct
    assert evaluation.sandbox == "strong"


def test_without_bubblewrap_the_level_is_standard_and_strong_is_refused(
    smallest: Task, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with SandboxedEvaluator(smallest, smallest.suite(), workers=1) as evaluator:
        assert evaluator.sandbox == "standard"
        assert evaluator.evaluate(one_file(HONEST)).sandbox == "standard"
    with pytest.raises(SandboxError, match=r"strong is required.*bubblewrap is not installed.*apt-get install"):
        SandboxedEvaluator(smallest, smallest.suite(), workers=1, confined=SandboxOptions(require_level="strong"))


def test_a_bubblewrap_that_does_not_work_is_no_bubblewrap(
    smallest: Task, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    impostor = tmp_path / "bwrap"
    impostor.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n")
    impostor.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with SandboxedEvaluator(smallest, smallest.suite(), workers=1) as evaluator:
        assert evaluator.sandbox == "standard"
    with pytest.raises(SandboxError, match="No permissions to create a new namespace"):
        SandboxedEvaluator(smallest, smallest.suite(), workers=1, confined=SandboxOptions(require_level="strong"))


def test_a_bubblewrap_that_encloses_nothing_is_found_out(
    smallest: Task, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A program of that name that merely runs the rest of its command line: it works, and confines nothing."""
    impostor = tmp_path / "bwrap"
    impostor.write_text('#!/bin/sh\nwhile [ "$1" != "--" ]; do shift; done; shift\nexec "$@"\n')
    impostor.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(SandboxError, match=r"bubblewrap is around the worker, and yet .*task\.py can be seen"):
        SandboxedEvaluator(smallest, smallest.suite(), workers=1, confined=SandboxOptions(require_level="strong"))


def test_nothing_runs_unconfined_unless_that_is_asked_for(smallest: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of an unknown architecture has no filter, and so no level."""
    monkeypatch.setattr(levels, "_options", lambda reasons: [Confinement(layers=("limits", "privileges"))])
    with pytest.raises(SandboxError, match="--unsafe-no-sandbox"):
        SandboxedEvaluator(smallest, smallest.suite(), workers=1)
    with SandboxedEvaluator(smallest, smallest.suite(), workers=1, confined=SandboxOptions(unsafe=True)) as evaluator:
        assert evaluator.sandbox == "none"
        evaluation = evaluator.evaluate(one_file(HONEST))
    assert evaluation.correct
    assert evaluation.sandbox == "none"


def test_an_unknown_level_is_refused_by_name(smallest: Task) -> None:
    with pytest.raises(SandboxError, match=r"no sandbox level 'total'; there are: none, standard, strong"):
        SandboxedEvaluator(smallest, smallest.suite(), workers=1, confined=SandboxOptions(require_level="total"))


def test_other_systems_get_a_hint_where_it_runs(smallest: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    for system, way in (("darwin", "this is macOS: run evolve in a Linux container"), ("win32", "in WSL2")):
        monkeypatch.setattr(sys, "platform", system)
        with pytest.raises(SandboxError, match=way):
            levels.establish(None, SandboxOptions(unsafe=True), Cancellation())  # type: ignore[arg-type]


def test_every_layer_is_seen_to_work() -> None:
    states = {check.name: check for check in probe_candidates()}
    assert list(states) == [*OF_CANDIDATE, "bubblewrap", "fairness"]
    for name in ("limits", "privileges", "seccomp"):
        assert states[name].state == "ok", states[name]
    assert "network" in states["seccomp"].detail
    if bubblewrap.find() is None:
        assert states["bubblewrap"].state == "absent"
        assert "apt-get install" in states["bubblewrap"].fix


def score_elsewhere(task: Task, interpreter: str, *before: str, **options: object) -> list[object]:
    """[uid, level, correct, detail, what a candidate says its uid is], scored by another process."""
    packages = next(path for path in sys.path if path.endswith("-packages"))
    environment = {"PYTHONPATH": f"{ROOT}:{packages}", "PATH": os.environ["PATH"]}
    command = [*before, interpreter, "-c", SCORE, str(task.folder), HONEST]
    done = subprocess.run(  # type: ignore[call-overload]
        command, check=False, env=environment, capture_output=True, text=True, **options
    )
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def test_as_an_ordinary_user(smallest: Task) -> None:
    if os.getuid():
        pytest.skip("the whole suite runs as an ordinary user")
    for interpreter in (bubblewrap.interpreter(), "/usr/bin/python3"):
        check = "import sys; sys.exit(sys.version_info < (3, 11))"
        try:
            done = subprocess.run([interpreter, "-c", check], check=False, user=12345, group=12345, extra_groups=[])
            if done.returncode == 0:
                break
        except OSError:
            continue
    else:
        pytest.skip("there is no Python 3.11 that another user may run")
    uid, level, correct, detail, spy = score_elsewhere(
        smallest, interpreter, user=12345, group=12345, extra_groups=[], cwd="/"
    )
    assert (uid, correct, detail) == (12345, True, "")
    assert level in ("standard", "strong")
    assert "ValueError: 12345" in str(spy)


def test_as_root_a_candidate_is_nobody(smallest: Task) -> None:
    if os.getuid():
        pytest.skip("not root")
    _, level, correct, _, spy = score_elsewhere(smallest, sys.executable)
    assert level in ("standard", "strong")
    assert correct
    assert "ValueError: 65534" in str(spy)


@needs_bubblewrap
@pytest.mark.parametrize("uid", ["0", "1000"])
def test_where_user_namespaces_are_forbidden_programs_are_scored_all_the_same(smallest: Task, uid: str) -> None:
    wall = ["bwrap", "--unshare-user", "--uid", uid, "--gid", uid, "--disable-userns", "--bind", "/", "/"]
    wall += ["--dev-bind", "/dev", "/dev"]
    if subprocess.run([*wall, "true"], check=False, capture_output=True).returncode:
        pytest.skip("this bubblewrap cannot forbid user namespaces")
    found_uid, level, correct, detail, _ = score_elsewhere(smallest, sys.executable, *wall)
    assert (str(found_uid), correct, detail) == (uid, True, "")
    if uid != "0":  # root may still make the other namespaces, which is all that bubblewrap needs then
        assert level == "standard"


@needs_bubblewrap
def test_what_fails_for_a_moment_is_tried_again_by_the_next_evaluator(
    smallest: Task, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "busy").touch()
    moody = tmp_path / "bwrap"
    moody.write_text(f'#!/bin/sh\n[ -e "{tmp_path}/busy" ] && exit 1\nexec "{bubblewrap.find()}" "$@"\n')
    moody.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with SandboxedEvaluator(smallest, smallest.suite(), workers=1) as evaluator:
        assert evaluator.sandbox == "standard"
    (tmp_path / "busy").unlink()
    with SandboxedEvaluator(smallest, smallest.suite(), workers=1) as evaluator:
        assert evaluator.sandbox == "strong"
