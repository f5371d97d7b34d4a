"""Runs whose settings were changed at a resume: whatever may be changed, the run comes again."""

import hashlib
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.journals import rewrite
from tests.loop.climbing import ROOT, TASK, configure, count, events, evolve, finish, opened, patch, script
from tests.loop.killing import META
from tests.loop.rerun.calling import rerun

ANSWERS = """
import sys, zlib
prompt = sys.stdin.read()
print(f"<NAME> a_step </NAME>\\n<DESCRIPTION> Nearer. </DESCRIPTION>\\n<DIFF>\\n<<<<<<< SEARCH\\n# next\\n=======")
print(f"OFFSET -= {1 + zlib.crc32(prompt.encode()) % 997 / 1000}\\n# next\\n>>>>>>> REPLACE\\n</DIFF>")
"""
"""A model that is a command: a step that depends on what it is asked."""

NONE = {"diff": 1.0, "full": 0.0, "cross": 0.0, "fix": 0.0}
SEARCH: dict[str, Any] = {"elites": 1, "unguided": 0.0, "kinds": NONE}


def commands(folder: Path, *names: str, script: str = ANSWERS) -> list[dict[str, Any]]:
    """Models that are a command each."""
    models = []
    for name in names:
        (folder / f"{name}.py").write_text(script)
        models.append({"model": name, "command": [sys.executable, str(folder / f"{name}.py")]})
    return models


def equal(folder: Path) -> Any:
    output = rerun(folder, "r")
    with opened(folder) as archive:
        assert output["fingerprint"] == {"recorded": archive.fingerprint(), "found": archive.fingerprint()}
    assert output["equal"], output["parted"]
    assert output["questions_as_recorded"] == 0
    return output


def test_models_that_a_bandit_chose_and_that_were_changed(tmp_path: Path) -> None:
    config = configure(
        tmp_path, generations=6, models=commands(tmp_path, "a", "b", "c"), search={**SEARCH, "models": "bandit"}
    )
    finish(tmp_path, "run", config, "--name", "r")
    assert any("picked" in event for event in events(tmp_path))
    finish(tmp_path, "resume", "r", "--generations", "8", "--set", "models.a.timeout_s=100.0")
    assert equal(tmp_path)["questions"] == 8


EVIL = """
import pathlib
pathlib.Path(__file__).with_name("imported").touch()
from evolve.search.strategies import Sequential as Evil
"""


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `r`, of a task that ships and the offline proposer, resumed with another setting: it needs
    no trust."""
    folder = tmp_path_factory.mktemp("begun")
    evolve(folder, "run", "--suite", "skewed", "--generations", "1", "--parallel", "1", "--name", "r", code=None)
    evolve(folder, "resume", "r", "--set", "attempts=2", code=None)
    (folder / "evilmod.py").write_text(EVIL)
    return folder


def copied(begun: Path, folder: Path) -> Path:
    shutil.copytree(begun, folder / "copy")
    return folder / "copy"


def test_no_event_says_what_is_used_or_what_a_run_is(begun: Path, tmp_path: Path) -> None:
    """What a resume has changed is named for people: what is used stands in the configurations."""
    folder = copied(begun, tmp_path)
    named = {
        "search": {"strategy": "evilmod:Evil"},
        "models": [{"model": "m", "command": ["touch", "imported"]}],
        "prompts_dir": "/somewhere",
        "seed": 1,
        "surprise": 2,
    }
    rewrite(
        folder / "runs" / "r" / "journal.jsonl",
        lambda event: event.update(changed=named) if event["event"] == "resumed" else None,
    )
    evolve(folder, "rerun", "r", environment={"PYTHONPATH": f"{folder}:{ROOT}"})
    assert not (folder / "imported").exists()


@pytest.mark.parametrize("environment", [{}, {"XDG_STATE_HOME": "nobody"}], ids=["own", "foreign"])
def test_what_the_configuration_of_any_session_names_is_asked_about(
    begun: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = copied(begun, tmp_path)
    (earlier,) = (folder / "runs" / "r" / "configs").iterdir()
    text = earlier.read_text()
    evil, changed = re.subn(r"(?m)^  strategy: .*$", '  strategy: "evilmod:Evil"', text)
    assert changed == 1
    earlier.unlink()
    digest = hashlib.sha256(evil.encode()).hexdigest()
    (earlier.parent / f"{digest}.yaml").write_text(evil)
    rewrite(
        folder / "runs" / "r" / "journal.jsonl",
        lambda event: event.update(config=digest) if event["event"] == "created" else None,
    )
    refused = evolve(folder, "rerun", "r", code=2, environment={"PYTHONPATH": f"{folder}:{ROOT}", **environment})
    assert "search strategy evilmod:Evil" in refused.stderr
    assert not (folder / "imported").exists()


def test_an_earlier_configuration_that_is_not_there_or_was_changed_is_an_error_in_one_sentence(
    begun: Path, tmp_path: Path
) -> None:
    folder = copied(begun, tmp_path)
    (earlier,) = (folder / "runs" / "r" / "configs").iterdir()
    earlier.write_text(earlier.read_text() + "# changed\n")
    named = f"configs/{earlier.name}: this configuration of an earlier session is missing or was changed"
    assert named in evolve(folder, "rerun", "r", code=2).stderr
    earlier.unlink()
    assert named in evolve(folder, "rerun", "r", code=2).stderr
    evolve(folder, "list", "r")  # all else needs the one in force


def test_limits_that_were_changed(tmp_path: Path) -> None:
    words = ["--generations", "1", "--minutes", "5", "--parallel", "1", "--set", "patience=1"]
    evolve(tmp_path, "run", "--task", str(TASK), *words, "--name", "r", code=None)
    for settings in (["generations=null"], ["generations=50", "prompt_tokens=20000"], ["minutes=null"]):
        evolve(tmp_path, "resume", "r", *(word for setting in settings for word in ("--set", setting)), code=None)
    output = [event["changed"] for event in events(tmp_path) if event["event"] == "resumed"]
    assert output == [{"generations": None}, {"generations": 50, "prompt_tokens": 20000}, {"minutes": None}]
    equal(tmp_path)


@pytest.mark.parametrize(
    ("before", "after"),
    [pytest.param("b", "null", marks=pytest.mark.slow), (None, "b"), pytest.param("b", "c", marks=pytest.mark.slow)],
)
def test_another_repair_model(tmp_path: Path, before: str | None, after: str) -> None:
    models = commands(tmp_path, "a", script="print('no patch')") + commands(tmp_path, "b", "c")
    for model in models[1:]:
        model["weight"] = 0.0
    config = configure(tmp_path, generations=3, models=models, attempts=2, repair_model=before)
    evolve(tmp_path, "run", config, "--name", "r", code=None)
    evolve(tmp_path, "resume", "r", "--generations", "5", "--set", f"repair_model={after}", code=None)
    asked = [event["model"] for event in events(tmp_path) if event["event"] == "asked" and event["attempt"]]
    assert asked == [before or "a"] * 3 + [after if after != "null" else "a"] * 2
    equal(tmp_path)


def test_attempts_that_were_changed_where_numbers_were_searched(tmp_path: Path) -> None:
    initial = (TASK / "initial.py").read_text()
    (tmp_path / "initial.py").write_text(initial.replace("OFFSET = 60", "OFFSET = int('60')"))  # no number to search
    answers = [["no patch", patch(f"OFFSET -= int('{n}')")] for n in range(1, 12)]
    search = {**SEARCH, "kinds": {**NONE, "tune": 1.0}}
    output = {"attempts": 2, "search": search, "initial": str(tmp_path / "initial.py")}
    config = configure(tmp_path, generations=8, models=[script(tmp_path, answers)], **output)
    finish(tmp_path, "run", config, "--name", "r")
    finish(tmp_path, "resume", "r", "--generations", "10", "--set", "attempts=3")
    refused = [event for event in events(tmp_path) if event["event"] == "refused"]
    assert {(event["reason"], event["attempt"], event["final"]) for event in refused} >= {
        ("no_gain", 0, True),
        ("no_patch", 0, False),
    }
    equal(tmp_path)


def test_models_that_came_after_the_offline_proposer(tmp_path: Path) -> None:
    words = ["--task", str(TASK), "--generations", "3", "--parallel", "1", "--set", "meta_every=2"]
    evolve(tmp_path, "run", *words, "--name", "r", code=None)
    evolve(tmp_path, "resume", "r", "--generations", "4", code=None)
    (model,) = commands(tmp_path, "a")
    words = ["--generations", "6", "--set", f"models={json.dumps([model])}", "--set", "meta_model=a"]
    evolve(tmp_path, "resume", "r", *words, "--set", "repair_model=a", code=None)
    asked = [event["model"] for event in events(tmp_path) if event["event"] == "asked" and not event["attempt"]]
    assert asked == ["offline"] * 4 + ["a"] * 2
    equal(tmp_path)


def test_templates_of_an_earlier_session_are_rendered_again(tmp_path: Path) -> None:
    templates = tmp_path / "templates"
    shutil.copytree(ROOT / "prompts", templates)
    for template in templates.rglob("*.j2"):
        template.write_text("A word before all others.\n" + template.read_text())
    models = [script(tmp_path, [patch(1 + n / 100) for n in range(1, 12)], [META] * 9)]
    config = configure(tmp_path, generations=5, models=models, meta_every=2, prompts_dir=str(templates))
    finish(tmp_path, "run", config, "--name", "r")
    finish(tmp_path, "resume", "r", "--generations", "7", "--set", "prompts_dir=null")
    assert count(tmp_path, "meta_answered") >= 3
    equal(tmp_path)
    (templates / "diff.j2").write_text("Another word.\n")
    parted = rerun(tmp_path, "r", code=1)["parted"]
    assert (parted["generation"], parted["what"]) == (1, "its prompt differs")


def test_a_question_to_a_model_that_the_run_has_not_is_shown_as_that(tmp_path: Path) -> None:
    models = [script(tmp_path, [patch(1 + n / 100) for n in range(1, 9)])]
    finish(tmp_path, "run", configure(tmp_path, models=models, generations=2), "--name", "r")
    finish(tmp_path, "resume", "r", "--generations", "3", "--set", "models.scripted.weight=3.0")

    def ask_of_another(event: dict[str, Any]) -> None:
        if event["event"] == "asked" and event["generation"] == 1:
            event["model"] = "nobody"

    rewrite(tmp_path / "runs" / "r" / "journal.jsonl", ask_of_another)
    parted = rerun(tmp_path, "r", code=1)["parted"]
    assert (parted["generation"], parted["what"]) == (1, "its choice differs")
    assert parted["recorded"] == "model nobody"
