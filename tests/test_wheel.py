"""What is installed: two packages with everything in them, which work in any folder, whatever else lies there."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
RUN = ["run", "--task", ROOT / "tests" / "data" / "smallest", "--generations", "1", "--name", "r"]
SHADOW = "raise SystemExit('a file of the current folder was imported: ' + __name__)\n"


def run(command: list[str | Path], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="hatchling, of the extra `dev`, is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    built = run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], ROOT)
    assert built.returncode == 0, built.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def site(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel as pip installs it, in a folder of its own."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", folder, wheel]
    installed = run(pip, folder)
    assert installed.returncode == 0, installed.stderr
    return folder


def littered(folder: Path) -> Path:
    """The folder, with files in it that are called like what the house and its workers import."""
    for name in ("evaluator", "prompts", "programs", "json", "struct", "socket", "numpy"):
        (folder / f"{name}.py").write_text(SHADOW)
    (folder / "prompts").mkdir()
    (folder / "prompts" / "diff.j2").write_text("{{ nonsense }}")
    return folder


def test_a_wheel_adds_two_packages_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"evolve", "evaluator", "evolve-0.1.0.dist-info"}
    shipped = [
        path.relative_to(ROOT)
        for folder in ("programs", "prompts")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not {"__pycache__", "records"} & set(path.parts)
    ]
    assert len(shipped) > 40
    assert {f"evaluator/_data/{path}" for path in shipped} <= set(names)
    assert not any("/records/" in name for name in names)
    pages = [path.relative_to(ROOT).as_posix() for path in (ROOT / "evolve" / "view" / "static").iterdir()]
    assert len(pages) > 10
    assert set(pages) <= set(names)


def test_what_is_installed_runs_and_scores_in_an_empty_folder(site: Path, tmp_path: Path) -> None:
    ran = run([site / "bin" / "evolve", "run", "--generations", "1", "--name", "r"], tmp_path, PYTHONPATH=str(site))
    assert ran.returncode == 0, ran.stderr
    baseline = site / "evaluator" / "_data" / "programs" / "placement" / "baselines" / "binary_search.py"
    scored = run([site / "bin" / "evolve", "score", baseline], tmp_path, PYTHONPATH=str(site))
    assert "26.233211" in scored.stdout, scored.stderr
    reported = run([site / "bin" / "evolve", "report", "r"], tmp_path, PYTHONPATH=str(site))
    assert reported.returncode == 0, reported.stderr
    assert (tmp_path / "r.html").stat().st_size > 100_000
    where = run([sys.executable, "-c", "import evaluator; print(evaluator.__file__)"], tmp_path, PYTHONPATH=str(site))
    assert where.stdout.startswith(str(site))


@pytest.mark.parametrize("named", [pytest.param(False, marks=pytest.mark.nightly), True], ids=["cwd", "PYTHONPATH=."])
def test_the_installed_command_works_next_to_files_of_the_same_names(site: Path, tmp_path: Path, named: bool) -> None:
    path = f".:{site}" if named else str(site)
    ran = run([site / "bin" / "evolve", *RUN], littered(tmp_path), PYTHONPATH=path)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("path", ["", pytest.param(".", marks=pytest.mark.nightly)], ids=["cwd", "PYTHONPATH=."])
def test_python_m_evolve_works_next_to_files_of_the_same_names(tmp_path: Path, path: str) -> None:
    ran = run([sys.executable, "-m", "evolve", *RUN], littered(tmp_path), PYTHONPATH=path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
