"""`evolve worker`: started by hand for a scheduler that somebody else runs, with and without certificates."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evaluator.errors import HarnessError
from evaluator.evaluation import EvaluatedOn
from evaluator.opening import open_evaluator
from evaluator.remote import RemoteEvaluator
from evaluator.task import Task
from evaluator.task_files import load_task
from evolve.cluster.remote import Patience, open_remote
from evolve.core.clusters import read_address
from tests.builders import one_file
from tests.evaluator.process_table import gone
from tests.script_folders import make_task

pytestmark = pytest.mark.slow
Start = Callable[..., subprocess.Popen[Any]]
SECRET = "sk-worker-77aa01"
TLS = "DASK_DISTRIBUTED__COMM__TLS__"
PATIENCE = Patience(silence_s=30, evaluation_s=60, opening_s=60, none_s=30)
SCORES_ITS_SHELL = """
import json, os, sys
json.dump({"correct": True, "combined_score": float(os.environ["EVOLVE_TEST_SCORE"])}, open(sys.argv[2], "w"))
"""


@contextmanager
def connected(task: Task, address: str, patience: Patience = PATIENCE) -> Iterator[RemoteEvaluator]:
    suite, control, cluster = task.suite(), task.initial_files(), read_address(address)
    with (
        open_evaluator(task, suite, workers=1) as home,
        open_remote(cluster, task, suite, control=control, level=home.sandbox, patience=patience) as remote,
    ):
        yield RemoteEvaluator(home, remote)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def start_scheduler(started: Start, *options: str, scheme: str = "tcp") -> str:
    port = free_port()
    command = [sys.executable, "-m", "dask", "scheduler", "--host", f"{scheme}://127.0.0.1", "--port", str(port)]
    started([*command, "--no-dashboard", *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return f"127.0.0.1:{port}"


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """The address of a scheduler of the user that tests use one after the other."""
    processes: list[subprocess.Popen[Any]] = []

    def start(command: list[str], **options: Any) -> subprocess.Popen[Any]:
        processes.append(subprocess.Popen(command, **options))
        return processes[-1]

    yield start_scheduler(start)
    for process in processes:
        process.kill()
        process.wait()


def start_worker(started: Start, address: str, *options: str, **environment: str) -> int:
    command = [sys.executable, "-m", "evolve", "worker", address, "--name", "mine", *options]
    environ = {**os.environ, "OPENAI_API_KEY": SECRET, **environment}
    return started(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environ).pid


def processes_below(root: int) -> list[int]:
    text = "".join(path.read_text() for path in Path(f"/proc/{root}/task").glob("*/children"))
    found = [int(word) for word in text.split()]
    return [root, *(process for child in found for process in processes_below(child))]


def test_a_worker_serves_a_scheduler_of_the_user_and_holds_no_key(started: Start, scheduler: str) -> None:
    task = load_task("placement")
    worker = start_worker(started, f"dask://{scheduler}")
    with connected(task, f"dask://{scheduler}") as evaluator:
        evaluation = evaluator.evaluate(task.initial_files())
        assert evaluation.correct
        assert evaluation.on == EvaluatedOn(host=os.uname().nodename, worker="mine")
        processes = processes_below(worker)
        assert len(processes) >= 2
        for process in processes:
            assert SECRET.encode() not in Path(f"/proc/{process}/environ").read_bytes()


def test_a_variable_of_the_tasks_script_comes_from_the_workers_shell(
    started: Start, scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVOLVE_TEST_SCORE", "1")
    task = make_task(tmp_path / "mine", SCORES_ITS_SHELL, environment=["EVOLVE_TEST_SCORE"])
    start_worker(started, f"dask://{scheduler}", "--env", "EVOLVE_TEST_SCORE", EVOLVE_TEST_SCORE="7")
    with connected(task, f"dask://{scheduler}") as evaluator:
        assert evaluator.evaluate(task.initial_files()).combined_score == 7.0


def test_ctrl_c_ends_a_worker_and_leaves_nothing(started: Start, scheduler: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "evolve", "worker", f"dask://{scheduler}"]
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "start_new_session": True}
    worker = started(command, text=True, env={**os.environ, "TMPDIR": str(tmp_path)}, **options)
    assert worker.stdout is not None
    assert f"for dask://{scheduler} as " in worker.stdout.readline()
    while len(processes := processes_below(worker.pid)) < 2:
        time.sleep(0.05)
    with connected(load_task("placement"), f"dask://{scheduler}") as evaluator:
        evaluator.evaluate(one_file(""))
        os.killpg(worker.pid, signal.SIGINT)
        assert worker.wait(20) == 130
    assert worker.stderr is not None
    assert worker.stderr.read() == ""
    assert gone(set(processes))
    assert [*tmp_path.iterdir()] == []


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    """An authority, and a certificate of it that scheduler, worker and head share."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    for words in (
        "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=ca -days 2",
        "req -newkey rsa:2048 -nodes -keyout node.key -out node.csr -subj /CN=localhost",
        "x509 -req -in node.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out node.pem -days 2",
    ):
        subprocess.run(["openssl", *words.split()], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def test_certificates_are_the_admission(started: Start, certificates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ca, cert, key = (str(certificates / name) for name in ("ca.pem", "node.pem", "node.key"))
    admission = ("--tls-ca-file", ca, "--tls-cert", cert, "--tls-key", key)
    address = start_scheduler(started, *admission, scheme="tls")
    start_worker(started, f"dask+tls://{address}", "--tls-ca", ca, "--tls-cert", cert, "--tls-key", key)
    task = load_task("placement")
    with (
        connected(task, f"dask+tls://{address}", Patience(evaluation_s=60, none_s=2)) as evaluator,
        pytest.raises(HarnessError, match=address),
    ):
        evaluator.evaluate(task.initial_files())
    for name, path in (("CA_FILE", ca), ("CLIENT__CERT", cert), ("CLIENT__KEY", key)):
        monkeypatch.setenv(f"{TLS}{name}", path)
    with connected(task, f"dask+tls://{address}") as evaluator:
        assert evaluator.evaluate(task.initial_files()).correct
