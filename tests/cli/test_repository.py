"""`evolve new --from-repo`: what it makes and refuses; the tour of docs/repository.md; and what comes back."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluator.task_files import load_task
from evolve.archive.reader import RunReader
from evolve.review.run_view import HEAD, RunView
from tests.repository_tasks import PROPOSALS, answers

ROOT = Path(__file__).parent.parent.parent
WORK = "def work(number):\n    return sum(each * each for each in range(number))\n"
CHECK = (
    "import unittest\nfrom work import work\n\n\n"
    "class Works(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(work(4), 14)\n"
)
OPTIONS = ("--edit", "work.py", "--test", "python -m unittest -q check", "--bench", "python bench.py")


def git(folder: Path, *words: str) -> str:
    signed = ("-c", "user.name=me", "-c", "user.email=me@localhost")
    return subprocess.run(["git", "-C", folder, *signed, *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of three files, committed; the present folder is the one around it."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, text in (("work.py", WORK), ("check.py", CHECK), ("bench.py", "from work import work\n\nwork(20000)\n")):
        (folder / name).write_text(text)
    git(folder, "init", "--quiet")
    commit(folder)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return folder


def commit(folder: Path) -> None:
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "more")


def refused(evolve: Callable[..., str], *options: str) -> str:
    """What `new` says when it refuses, having made nothing."""
    message = evolve("new", "task", "--from-repo", "mine", *options, code=2)
    assert [path.name for path in Path().iterdir() if "task" in path.name] == []
    return message


def test_a_repository_becomes_a_task(repository: Path, evolve: Callable[..., str]) -> None:
    said = evolve("new", "task", "--from-repo", "mine", *OPTIONS, "--bench-memory")  # it has the least noise
    assert "1 file may change, and each is what runs" in said
    assert "1 test pass" in said
    assert "cannot be distinguished from noise here" in said
    task = load_task("task")
    assert task.repository is not None
    assert task.repository.commit == git(repository, "rev-parse", "HEAD").strip()
    assert task.repository.tests == 1
    assert list(task.initial_files()) == ["work.py"]
    assert len(task.repository.noise_runs) >= 24
    assert git(repository, "status", "--porcelain") == ""


@pytest.mark.slow
def test_changes_that_are_not_committed_are_taken_on_demand(repository: Path, evolve: Callable[..., str]) -> None:
    (repository / "work.py").write_text(WORK + "# changed\n")
    assert "changes that are not committed (work.py)" in refused(evolve, *OPTIONS)
    evolve("new", "task", "--from-repo", "mine", *OPTIONS, "--bench-memory", "--dirty")
    assert load_task("task").initial_files()["work.py"].endswith("# changed\n")
    assert git(repository, "status", "--porcelain").strip() == "M work.py"


@pytest.mark.parametrize("pattern", ["check.py", "*.py", "bench.py", "nothing/*.py"])
def test_what_decides_the_score_may_not_change(repository: Path, evolve: Callable[..., str], pattern: str) -> None:
    message = refused(evolve, *OPTIONS, "--edit", pattern)
    assert f"--edit {pattern}: matches" in message


def test_tests_that_fail_or_find_nothing_are_refused(repository: Path, evolve: Callable[..., str]) -> None:
    wrong = refused(evolve, *OPTIONS, "--test", "python -m unittest -q missing")
    assert "evolve: --test: the unchanged code does not pass: these tests fail: missing (unittest" in wrong
    assert "\nModuleNotFoundError: No module named 'missing'\n" in wrong
    assert "\nThe commands see the system and the folders of your PATH, and no network" in wrong
    (repository / "empty.py").write_text("")
    commit(repository)
    none = refused(evolve, *OPTIONS, "--test", "python -m unittest -q empty; echo 'Ran 0 tests in 0s'")
    assert "no test ran" in none


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_repository_of_another_user_says_what_git_wants(repository: Path, evolve: Callable[..., str]) -> None:
    os.chown(repository, 12345, 12345)
    assert f"git config --global --add safe.directory {repository}" in refused(evolve, *OPTIONS)


def test_a_file_of_which_another_copy_runs_is_named_with_that_copy(
    repository: Path, tmp_path: Path, evolve: Callable[..., str]
) -> None:
    site = tmp_path / "site"
    (site / "twice").mkdir(parents=True)
    (site / "twice" / "__init__.py").write_text("def twice(number):\n    return 2 * number\n")
    (repository / "src" / "twice").mkdir(parents=True)
    (repository / "src" / "twice" / "__init__.py").write_text("def twice(number):\n    return number + number\n")
    setup = "mkdir -p installed && cp -r src/twice installed/twice"
    (repository / "check.py").write_text(
        "import sys\nsys.path.insert(0, 'installed')\nfrom twice import twice\nassert twice(2) == 4\n"
    )
    (repository / "bench.py").write_text("import check\n")
    commit(repository)
    options = ("--edit", "src/twice/*.py", "--test", "python check.py", "--bench", "python bench.py")
    message = refused(evolve, *options, "--setup", setup)
    assert "--edit src/twice/__init__.py: a broken file in its place changes nothing" in message


def test_what_goes_with_a_repository_alone_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evolve: Callable[..., str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "--from-repo PATH" in evolve("new", "task", "--test", "true", code=2)
    assert "--bench is missing" in evolve("new", "task", "--from-repo", ".", "--edit", "*", "--test", "true", code=2)
    assert "no git repository" in evolve("new", "task", "--from-repo", ".", *OPTIONS, code=2)


# -- the whole way -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_tour_works_as_it_is_pasted(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "repository.md").read_text()
    lines = [line for block in re.findall(r"^```sh\n(.*?)^```", page, re.M | re.S) for line in block.splitlines()]
    (tmp_path / "programs").symlink_to(ROOT / "programs")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-e", "-c", "\n".join(lines)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "fresh pairs of runs" in ran.stdout
    assert "times as good as the unchanged code" in ran.stdout
    with RunReader.open(tmp_path / "runs" / "first") as archive:
        page = RunView(name="first", archive=archive).to_json(HEAD)
    assert "fresh pairs of runs" in page["believed"]["remeasured"]
    branches = git(tmp_path / "my-repo", "branch", "--list", "evolve/*").split()
    assert len(branches) == 1
    again = [sys.executable, "-m", "evolve", "apply", "first", "best", "my-repo"]
    twice = subprocess.run(again, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert twice.returncode == 2
    assert f"the branch {branches[0]} exists already" in twice.stderr
    git(tmp_path / "my-repo", "branch", "-m", branches[0], "evolve/mine")
    branches = ["evolve/mine"]
    subprocess.run(["git", "-C", tmp_path / "my-repo", "config", "user.name", ""], check=True)
    nameless = subprocess.run(again, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert nameless.returncode == 2
    assert "git does not know who commits" in nameless.stderr
    assert "git config --global user.name NAME" in nameless.stderr
    elsewhere = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "somebody else's")}
    foreign = subprocess.run(again, cwd=tmp_path, env=elsewhere, capture_output=True, text=True, check=False)
    assert foreign.returncode == 2
    assert "best my-repo --task FOLDER" in foreign.stderr
    git(tmp_path / "my-repo", "switch", "--quiet", branches[0])
    tested = subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd=tmp_path / "my-repo", check=False)
    assert tested.returncode == 0


@pytest.mark.nightly
def test_each_of_ten_proposals_gets_the_right_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, evolve: Callable[..., str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    subprocess.run(["cp", "-r", ROOT / "programs" / "repositories" / "nearby", "mine"], check=True)
    git(tmp_path / "mine", "init", "--quiet")
    commit(tmp_path / "mine")
    options = ("--edit", "nearby/*.py", "--test", "python -m pytest -q", "--bench", "python bench.py")
    evolve("new", "task", "--from-repo", "mine", *options)
    Path("answers.yaml").write_text(answers(list(PROPOSALS)))
    words = ["--model", "scripted:answers.yaml", "--generations", 10, "--parallel", 1, "--set", "attempts=1"]
    evolve("run", "--task", "task", "--name", "r", *words)
    with RunReader.open(Path("runs/r")) as archive:
        by_name = {record.origin.patch_name: record for record in archive.programs}
        refused = archive.deciding(1 + list(PROPOSALS).index("edits the tests"))
        best, remeasured = archive.best, archive.remeasured
    assert refused is not None
    assert "tests/test_search.py" in (refused.message or "")
    outcomes = {name: record.outcome for name, record in by_name.items()}
    for name in ("breaks_tests", "writes_outside"):
        assert outcomes[name] == "infeasible"
    assert outcomes["crashes"] == "crash"
    assert outcomes["never_ends"] in ("cpu_limit", "timeout")  # on a busy machine
    assert by_name["slower"].combined_score < 0.9
    assert by_name["caches_between_runs"].combined_score < 1.1
    assert best is not None
    assert best.origin.patch_name in ("good", "two_files")
    assert remeasured[best.generation].result["is_better"]
    assert json.loads(evolve("show", "r", "best", "--json"))["remeasured"]["result"]["pairs"] == 32
    patch = evolve("export", "r", "best", "--patch")
    Path("gain.patch").write_text(patch)
    git(tmp_path / "mine", "apply", str(tmp_path / "gain.patch"))
    tested = subprocess.run([sys.executable, "-m", "pytest", "-q"], cwd="mine", check=False)
    assert tested.returncode == 0
