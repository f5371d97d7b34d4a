"""Short plug-ins that somebody else wrote, named by dotted path: the real command runs with them to the end."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.loop.climbing import ROOT, configure, count, events, evolve, opened
from tests.seams.plugins import PLUGINS, write

ECHO = {"model": "x", "client": "my_llm:Echo", "api_key_env": None}
NEWEST = {"strategy": "my_search:Newest"}


def there(folder: Path) -> dict[str, str]:
    """An environment whose PYTHONPATH names the plug-ins' folder."""
    return {"PYTHONPATH": os.pathsep.join([str(write(folder / "plugins")), str(ROOT)])}


def test_they_are_short() -> None:
    for source in (path.read_text(encoding="utf-8") for path in PLUGINS.glob("*.py")):
        lines = [line for line in source[source.index("class ") :].splitlines() if line]
        assert len(lines) <= 15


def test_a_run_with_both_goes_to_its_end_and_can_be_resumed(tmp_path: Path) -> None:
    config = configure(tmp_path, models=[ECHO], search=NEWEST, generations=4, meta_every=3)
    evolve(tmp_path, "run", config, "--name", "r", environment=there(tmp_path))
    evolve(tmp_path, "resume", "r", "--generations", "6", environment=there(tmp_path))
    with opened(tmp_path) as archive:
        assert archive.finished == "generations"
        programs = list(archive.programs)
        assert {record.origin.model for record in programs[1:]} == {"x"}
        assert [record.origin.description for record in programs[1:]] == [f"patch/{n}/0" for n in range(1, 7)]
        assert [record.parents for record in programs[1:]] == [(record.commit,) for record in programs[:-1]]
    assert {event["model"] for event in events(tmp_path) if event["event"] == "asked"} == {"x"}
    text = (tmp_path / "runs" / "r" / "run.yaml").read_text()
    assert '"my_search:Newest"' in text and '"my_llm:Echo"' in text
    document = json.loads(evolve(tmp_path, "list", "r", "--json").stdout)
    assert {program["model"] for program in document["programs"] if program["generation"]} == {"x"}


def test_the_strategy_works_with_the_offline_proposer_and_the_model_with_our_search(tmp_path: Path) -> None:
    evolve(
        tmp_path, "run", configure(tmp_path, search=NEWEST, generations=3), "--name", "a", environment=there(tmp_path)
    )
    config = configure(tmp_path, models=[ECHO | {"name": "mine"}], generations=3, parallel=3)
    evolve(tmp_path, "run", config, "--name", "b", environment=there(tmp_path))
    with opened(tmp_path, "a") as a, opened(tmp_path, "b") as b:
        assert len(a.statuses) == len(b.statuses) == 4
        assert {record.origin.model for record in b.programs[1:]} == {"mine"}


@pytest.mark.slow
def test_the_installed_command_finds_them_too(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("evolve")
    config = configure(tmp_path, models=[ECHO], search=NEWEST, generations=2)
    for where in (str(write(tmp_path / "plugins")), str(write(tmp_path)), "."):
        environment = {**os.environ, "PYTHONPATH": where}
        ran = subprocess.run(
            [command, "run", config, "--set", "generations=1"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr


def test_without_the_folder_a_resumed_run_says_what_it_lacks(tmp_path: Path) -> None:
    config = configure(tmp_path, models=[ECHO], search=NEWEST, generations=2)
    evolve(tmp_path, "run", config, "--name", "r", environment=there(tmp_path))
    ran = evolve(tmp_path, "resume", "r", "--generations", "3", environment={"PYTHONPATH": str(ROOT)}, code=2)
    assert "my_llm" in ran.stderr and "PYTHONPATH" in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert count(tmp_path, "resumed") == 0, "nothing is written by a session that cannot begin"


WRONG = [
    ("no_such_module:Newest", "cannot be imported"),
    ("my_search:Oldest", "no class or function 'Oldest'"),
    ("my_search:PatchKind.DIFF", "no dotted path"),
    ("my_search:__doc__", "no class or function '__doc__'"),
    (":Newest", "no dotted path"),
    ("my_search:", "no dotted path"),
    ("..my_search:Newest", "no dotted path"),
    ("broken:Newest", "SyntaxError"),
    ("raising:Newest", "ValueError: not today"),
    ("lacking:Newest", "NotImplementedError"),
    ("json:JSONDecoder", "cannot be made of its settings"),
    ("empty:Newest", "has no method"),
]
MODULES = {
    "broken": "def Newest(:\n",
    "raising": "raise ValueError('not today')\n",
    "lacking": "def Newest(settings):\n    raise NotImplementedError\n",
    "empty": "def Newest(settings):\n    return settings\n",
}


@pytest.mark.parametrize("seam", ["search.strategy", "models.client"])
@pytest.mark.parametrize(("path", "why"), WRONG)
def test_a_wrong_path_is_reported_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], seam: str, path: str, why: str
) -> None:
    from evolve.cli.main import main

    for name, source in MODULES.items():
        (tmp_path / f"{name}.py").write_text(source)
    monkeypatch.syspath_prepend(str(write(tmp_path)))
    monkeypatch.chdir(tmp_path)
    keys: dict[str, Any] = {"search": {"strategy": path}}
    if seam == "models.client":
        keys = {"models": [ECHO | {"client": path}]}
    assert main(["run", configure(tmp_path, **keys), "--name", "r"]) == 2
    printed = capsys.readouterr().err
    assert seam in printed and why in printed
    assert printed.count("\n") == 1
    assert not (tmp_path / "runs").exists()


def test_a_strategy_that_is_neither_ours_nor_a_path_gets_the_list_of_strategies(tmp_path: Path) -> None:
    ran = evolve(tmp_path, "run", configure(tmp_path, search={"strategy": "newest"}), "--name", "r", code=2)
    assert "none of best_of_n, evolve, islands, sequential" in ran.stderr and "package.module:Class" in ran.stderr
