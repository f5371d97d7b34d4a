"""What this machine has left is known before it runs out, and said in a sentence."""

import subprocess
import sys
from pathlib import Path

import pytest

from evaluator.sandbox import bubblewrap, resources
from evaluator.sandbox.options import IMPORTABLE, Confinement
from evaluator.sandbox.supervisor import Candidate
from evaluator.sandbox.worker import Worker, WorkerSettings
from evaluator.task import Limits

ROOT = Path(__file__).parents[2]
MEMINFO = "MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:    4096000 kB\n"


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_what_is_free_is_what_the_machine_has_left(tmp_path: Path) -> None:
    assert resources.free_memory_mb(tmp_path) is None
    assert resources.free_memory_mb(machine(tmp_path, {"proc/meminfo": MEMINFO})) == 4000


@pytest.mark.parametrize(
    ("cgroup", "limit", "usage", "field"),
    [
        ("0::/a/b\n", "sys/fs/cgroup/a/memory.max", "sys/fs/cgroup/a/memory.current", "inactive_file"),
        (
            "1:cpu:/x\n4:memory:/a/b\n",
            "sys/fs/cgroup/memory/a/memory.limit_in_bytes",
            "sys/fs/cgroup/memory/a/memory.usage_in_bytes",
            "total_inactive_file",
        ),
    ],
    ids=["v2", "v1"],
)
def test_a_cgroup_may_leave_less(tmp_path: Path, cgroup: str, limit: str, usage: str, field: str) -> None:
    stat = str(Path(limit).parent / "memory.stat")
    files = {
        "proc/meminfo": MEMINFO,
        "proc/self/cgroup": cgroup,
        usage: f"{900 << 20}\n",
        stat: f"{field} {100 << 20}\n",
    }
    assert resources.free_memory_mb(machine(tmp_path, {**files, limit: f"{1000 << 20}\n"})) == 200
    assert resources.free_memory_mb(machine(tmp_path, {limit: "max\n"})) == 4000


def test_more_workers_than_fit_are_warned_of() -> None:
    assert resources.memory_shortage(1, 1) == ""
    assert "Fewer workers" in resources.memory_shortage(10_000, 1 << 20)


@pytest.mark.parametrize(("soft", "hard", "says"), [(64, 64, "(ulimit -n 1024)"), (64, 4096, "")])
def test_too_few_descriptors_are_a_sentence_or_are_raised(soft: int, hard: int, says: str) -> None:
    script = (
        f"import resource; resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))\n"
        "import sys; from evolve.cli.main import main; sys.exit(main(sys.argv[1:]))"
    )
    task = ROOT / "tests" / "data" / "smallest"
    score = ["score", str(task / "initial.py"), "--task", str(task)]
    ended = subprocess.run(
        [sys.executable, "-c", script, *score], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert ended.returncode == (3 if says else 0), ended.stderr
    assert says in ended.stderr
    assert len(ended.stderr.splitlines()) == bool(says)


@pytest.mark.skipif(bubblewrap.find() is None, reason="bubblewrap is not installed")
def test_no_package_of_the_system_can_be_seen_at_strong() -> None:
    """Debian's Python keeps them inside of /usr/lib, which candidates need; the machinery itself may be among them."""
    folders = [
        str(path) for place in ("/usr/lib", "/usr/local/lib") for path in Path(place).glob("python3*/*-packages")
    ]
    source = (
        "import os\ndef seen(folders):\n"
        "    return [folder for folder in folders if os.path.isdir(folder) and os.listdir(folder)]\n"
    )
    settings = WorkerSettings(entry_point="seen", adapter_source="", packages=(), memory_mb=512, cpu_total_s=5)
    worker = Worker(settings, Confinement(layers=(), bubblewrap=bubblewrap.find(), importable=IMPORTABLE))
    try:
        with Candidate(worker, Limits(cpu_per_instance_s=5, cpu_total_s=5, memory_mb=512)) as candidate:
            assert candidate.load(source, 0).failure is None
            assert (
                candidate.ask(
                    b'{"seed":0,"instance":{"folders":' + str(folders).replace("'", '"').encode() + b"}}"
                ).answer
                == []
            )
    finally:
        worker.close()
