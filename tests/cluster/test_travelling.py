"""A task travels as text; addresses of clusters; the extra."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.errors import TaskError
from evaluator.task_files import built_in_tasks, load_task
from evaluator.version import version_of
from evolve.cluster.packing import digest_of, pack, unpack
from evolve.core.clusters import ClusterAddress, read_address
from evolve.core.errors import InputError
from tests.script_folders import make_task


@pytest.mark.parametrize("name", built_in_tasks())
def test_a_task_that_travelled_has_the_same_evaluator(name: str, tmp_path: Path) -> None:
    task = load_task(name)
    packed = pack(task)
    assert digest_of(packed) == digest_of(pack(task))
    there = load_task(str(unpack(packed, tmp_path)))
    assert version_of(there, there.suite()) == version_of(task, task.suite())


def test_a_script_stays_executable_and_runs_stay_at_home(tmp_path: Path) -> None:
    task = make_task(tmp_path / "mine")
    (task.folder / "runs").mkdir()
    (task.folder / "runs" / "journal.jsonl").write_text("{}")
    (task.folder / ".key").write_text("secret")
    (task.folder / "tool.sh").write_text("#!/bin/sh\n")
    (task.folder / "tool.sh").chmod(0o755)
    folder = unpack(pack(task), tmp_path / "there")
    assert sorted(path.name for path in folder.iterdir()) == ["evaluate.py", "initial.py", "tool.sh"]
    assert (folder / "tool.sh").stat().st_mode & 0o111
    assert not (folder / "initial.py").stat().st_mode & 0o111


def test_a_link_does_not_travel(tmp_path: Path) -> None:
    task = make_task(tmp_path / "mine")
    (task.folder / "data").symlink_to("/etc")
    with pytest.raises(TaskError, match="is a link"):
        pack(task)


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", ""])
def test_no_file_is_written_out_of_its_folder(path: str, tmp_path: Path) -> None:
    packed = json.dumps({"name": "mine", "files": [{"path": path, "content": "", "executable": False}]})
    with pytest.raises(ValueError, match="leads out"):
        unpack(packed, tmp_path / "there")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("dask:local:4", ClusterAddress(local=4)),
        ("dask://cluster:8786", ClusterAddress(scheduler="tcp://cluster:8786")),
        ("dask+tls://cluster:8786", ClusterAddress(scheduler="tls://cluster:8786")),
        ("tcp://[::1]:8786", ClusterAddress(scheduler="tcp://[::1]:8786")),
        ("localhost:8786", ClusterAddress(scheduler="tcp://localhost:8786")),
    ],
)
def test_an_address_is_read(text: str, address: ClusterAddress) -> None:
    assert read_address(text) == address


@pytest.mark.parametrize(
    "text",
    ["", "4", "dask:local:0", "dask:local:999", "dask://cluster", "http://cluster:1", "dask://u@h:1", "dask://h:x"],
)
def test_anything_else_is_no_address(text: str) -> None:
    with pytest.raises(InputError, match=r"is no cluster|would start 999"):
        read_address(text)


WITHOUT_DASK = """
import importlib.abc
import sys


class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("dask", "distributed"):
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, Hidden())
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "distributed" else real(name, *rest)
import evolve.cluster.remote
from evolve.cli.main import main
sys.exit(main(["worker", "dask://127.0.0.1:8786"]))
"""


def test_without_dask_one_sentence_names_the_extra() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_DASK], capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert "pip install 'evolve[cluster]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_worker_needs_an_address() -> None:
    command = [sys.executable, "-m", "evolve", "worker", "nowhere"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "'nowhere' is no cluster" in done.stderr
