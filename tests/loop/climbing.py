"""The task `climb` and a model for it: patches that fit any of its programs, and runs of the real command."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import yaml

from evolve.archive.reader import RunReader
from tests.journals import events_of

ROOT = Path(__file__).resolve().parent.parent.parent
TASK = ROOT / "tests" / "data" / "climb"
KEY = "sk-test-5b1f3c9e7d204a68"
FORKS = get_context("forkserver")
COMMANDS = ["run", "resume", "list", "show", "rerun", "view"]
FORKS.set_forkserver_preload(
    [
        *(f"evolve.cli.{name}" for name in ["main", *COMMANDS, "conduct"]),
        "evolve.loop.session",
        "openai",
        "tests.loop.warm",
    ]
)


def patch(step: float | str, name: str = "a_step", why: str = "Nearer is better.") -> str:
    """An answer: one more step, or any other line of Python, in a program of the task."""
    line = step if isinstance(step, str) else f"OFFSET -= {step}"
    return (
        f"<NAME> {name} </NAME>\n<DESCRIPTION> {why} </DESCRIPTION>\n<DIFF>\n<<<<<<< SEARCH\n# next\n=======\n"
        f"{line}\n# next\n>>>>>>> REPLACE\n</DIFF>\n"
    )


def configure(folder: Path, **keys: Any) -> str:
    """Write a configuration for short runs of the task, with `keys` on top; its path."""
    document: dict[str, Any] = {
        "task": str(TASK),
        "generations": 10,
        "parallel": 1,
        "workers": 1,
        "meta_every": 1000,
        "search": {"elites": 1, "unguided": 0.0, "kinds": {"diff": 1.0, "full": 0.0, "cross": 0.0, "fix": 0.0}},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(document | keys), encoding="utf-8")
    return str(path)


def model(url: str, **keys: Any) -> dict[str, Any]:
    """A configured model at a test server, with a key and prices."""
    base = {"model": "m", "base_url": url, "api_key_env": "CLIMB_KEY", "timeout_s": 20.0}
    return base | {"price_in": 2.0, "price_out": 8.0} | keys


def script(folder: Path, answers: list[Any], meta: list[Any] = []) -> dict[str, Any]:  # noqa: B006
    """A scripted model with these answers."""
    (folder / "script.yaml").write_text(yaml.safe_dump({"answers": answers, "meta": meta}), encoding="utf-8")
    return {"model": f"scripted:{folder / 'script.yaml'}"}


def meta_answer(prompt: str) -> str:
    """What fits the step of the meta-summarizer that a prompt is for."""
    if prompt.startswith("You describe programs"):
        generations = re.findall(r"^# Generation (\d+):", prompt, re.MULTILINE)
        summary = "- **Implementation**: steps.\n- **Performance**: it rose.\n- **Feedback**: go on.\n"
        return "\n".join(f"## Generation {generation}\n{summary}" for generation in generations)
    titles = ("Successful Algorithmic Patterns", "Ineffective Approaches")
    titles += ("Implementation Insights", "Performance Analysis")
    parts = "\n".join(f"## {title}\n- a point\n" for title in titles)
    return f"{parts}\n## Recommendations\n1. **Go on**: take another step.\n"


def is_meta(request: Any) -> bool:
    """Whether a request is for an insights report."""
    return "# What to do now" not in request["messages"][0]["content"]


def evolve(
    folder: Path, *words: str, code: int | None = 0, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end, as `python -m evolve` in that folder runs it, in a fork of a process that has its
    modules loaded: an interpreter of its own would take most of the time."""
    given = os.environ | {"CLIMB_KEY": KEY, "PYTHONPATH": str(ROOT)} | dict(environment or {})
    ran = forked(folder, words, given)
    if code is not None:
        assert ran.returncode == code, f"{words}: exit {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
    return ran


def forked(
    folder: Path, words: Sequence[str], environment: Mapping[str, str], prepare: Callable[[], None] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end in a fork, where `prepare` is called first."""
    with tempfile.TemporaryDirectory() as place:
        out, err = Path(place, "out"), Path(place, "err")
        process = start(folder, words, environment, out=out, err=err, prepare=prepare)
        process.join(300)
        if process.exitcode is None:
            kill(process)
            raise subprocess.TimeoutExpired(list(words), 300, out.read_text(), err.read_text())
        return subprocess.CompletedProcess(list(words), process.exitcode, out.read_text(), err.read_text())


def start(
    folder: Path,
    words: Sequence[str],
    environment: Mapping[str, str],
    *,
    out: Path,
    err: Path,
    prepare: Callable[[], None] | None = None,
) -> Any:
    """Start the command in a fork, where `prepare` is called first. What it says goes to the files `out` and `err`."""
    process = FORKS.Process(target=_as_a_module, args=(folder, words, dict(environment), prepare, out, err))
    process.start()
    return process


def _as_a_module(
    folder: Path,
    words: Sequence[str],
    environment: Mapping[str, str],
    prepare: Callable[[], None] | None,
    out: Path,
    err: Path,
) -> None:
    import evolve.__main__ as module

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [str(module.__file__), *words]
    first = [str(folder), *environment["PYTHONPATH"].split(os.pathsep)]  # as `python -m` puts them
    sys.path[:] = [*first, *(entry for entry in sys.path if entry not in first)]
    for descriptor, path in ((1, out), (2, err)):
        with path.open("w") as file:
            os.dup2(file.fileno(), descriptor)
    if prepare is not None:
        prepare()
    raise SystemExit(module.main())


def in_fork(folder: Path, *words: str, own_group: bool = False) -> Any:
    """The command in a process (and, if wanted, a process group) of its own that starts at once; the caller waits for
    it, or kills it."""
    process = FORKS.Process(target=_main, args=(folder, words, own_group))
    process.start()
    return process


def _main(folder: Path, words: tuple[str, ...], own_group: bool) -> None:
    from evolve.cli.main import main

    if own_group:
        os.setpgid(0, 0)
    os.chdir(folder)
    os.environ["CLIMB_KEY"] = KEY
    with (folder / "out.txt").open("a") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(out.fileno(), 2)
        raise SystemExit(main(words))


def finish(folder: Path, *words: str, code: int = 0, seconds: float = 120) -> None:
    """Run the command in a fork to its end."""
    process = in_fork(folder, *words)
    process.join(seconds)
    assert process.exitcode == code, (folder / "out.txt").read_text()


def events(folder: Path, name: str = "r") -> list[dict[str, Any]]:
    """The journal of a run, as far as its lines are whole; none before it is there."""
    path = folder / "runs" / name / "journal.jsonl"
    if not path.exists():
        return []
    return list(events_of(path))


def count(folder: Path, name: str, **fields: Any) -> int:
    """How many events of that name and with those fields there are."""
    return sum(
        event["event"] == name and all(event.get(key) == value for key, value in fields.items())
        for event in events(folder)
    )


def wait_until(true: Callable[[], bool], process: Any, seconds: float = 60) -> None:
    """Poll until something holds; the process must not end before."""
    deadline = time.monotonic() + seconds
    while not true():
        assert process.is_alive() and time.monotonic() < deadline
        time.sleep(0.003)


def kill(process: Any) -> None:
    """Kill -9, and wait until it is gone."""
    process.kill()
    process.join()


def opened(folder: Path, name: str = "r") -> RunReader:
    """The archive of a run, for reading."""
    return RunReader.open(folder / "runs" / name)
