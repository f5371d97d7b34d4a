"""Runs whose settings were changed at a resume: whatever may be changed, the run comes again."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from evolve.core.config import SearchConfig
from evolve.core.errors import UntrustedArchive
from evolve.trust import refuse, require_trust_to_repeat, stored_config
from tests.journals import rewrite, sealed
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
    told = rerun(folder, "r")
    with opened(folder) as archive:
        assert told["fingerprint"] == {"recorded": archive.fingerprint(), "found": archive.fingerprint()}
    assert told["equal"], told["parted"]
    return told


def test_models_that_a_bandit_chose_and_that_were_changed(tmp_path: Path) -> None:
    config = configure(
        tmp_path, generations=6, models=commands(tmp_path, "a", "b", "c"), search={**SEARCH, "models": "bandit"}
    )
    finish(tmp_path, "run", config, "--name", "r")
    assert any("picked" in event for event in events(tmp_path))
    finish(tmp_path, "resume", "r", "--generations", "8", "--set", "models.a.timeout_s=100.0")
    assert equal(tmp_path)["questions_as_recorded"] == count(tmp_path, "asked") - 2


EVIL = """
import pathlib
pathlib.Path(__file__).with_name("imported").touch()
from evolve.search.strategies import Sequential as Evil
"""


def forged(folder: Path, *changes: dict[str, Any]) -> Path:
    """Add a `resumed` event to the run for each of these changes; where a module of somebody else's would be seen."""
    path = folder / "runs" / "r" / "journal.jsonl"
    journal = events(folder)
    for number, changed in enumerate(changes, len(journal)):
        journal.append({"seq": number, "t": journal[-1]["t"], "event": "resumed", "changed": changed})
    path.write_bytes(sealed(journal))
    (folder / "evilmod.py").write_text(EVIL)
    return folder / "imported"


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `r`, of a task that ships and the offline proposer: it needs no trust."""
    folder = tmp_path_factory.mktemp("begun")
    evolve(folder, "run", "--suite", "skewed", "--generations", "1", "--parallel", "1", "--name", "r", code=None)
    return folder


@pytest.mark.parametrize(
    ("key", "value", "after"),
    [
        ("search", {"strategy": "evilmod:Evil"}, SearchConfig().model_dump(mode="json")),
        ("search", None, None),
        ("task", "/somewhere", "placement"),
        ("suite", "tight", "skewed"),
        ("seed", 1, 0),
        ("initial", "/somewhere/initial.py", None),
        ("prompts_dir", "/somewhere", None),
        ("prices", "/somewhere/prices.yaml", None),
        ("models", [{"model": "m", "command": ["touch", "imported"]}], []),
        ("surprise", 1, 2),
    ],
)
def test_no_event_says_what_is_used_or_what_a_run_is(
    begun: Path, tmp_path: Path, key: str, value: Any, after: Any
) -> None:
    (tmp_path / "runs").mkdir()
    shutil.copytree(begun / "runs" / "r", tmp_path / "runs" / "r")
    imported = forged(tmp_path, {key: value}, {key: after})
    mine, nobodys = {}, {"XDG_STATE_HOME": str(tmp_path / "nobody")}
    for environment in (mine, nobodys) if key in ("search", "models") else (mine,):  # which name code
        path = {"PYTHONPATH": f"{tmp_path}:{ROOT}", **environment}
        said = evolve(tmp_path, "rerun", "r", code=2, environment=path).stderr
        assert f"(`resumed`) tells a change of {key}, which no resume makes" in said
    assert not imported.exists()


def test_what_the_configuration_of_any_session_names_is_asked_about(begun: Path) -> None:
    with opened(begun) as archive:
        config = stored_config(archive)
        earlier = config.model_copy(update={"search": SearchConfig(strategy="evilmod:Evil")})
        told: dict[str, Any] = {"typed_task": False, "agree": refuse}
        require_trust_to_repeat(archive, [config, config], **told)
        with pytest.raises(UntrustedArchive, match="search strategy evilmod:Evil"):
            require_trust_to_repeat(archive, [earlier, config], **told)


def test_settings_that_contradict_each_other_are_an_error_in_one_sentence(begun: Path, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    shutil.copytree(begun / "runs" / "r", tmp_path / "runs" / "r")
    forged(tmp_path, {"attempts": "three"}, {"attempts": 3})
    said = evolve(tmp_path, "rerun", "r", code=2).stderr
    assert "its events `resumed` and run.yaml contradict each other" in said
    assert "attempts" in said


def test_a_limit_that_is_not_known_contradicts_none_that_is(tmp_path: Path) -> None:
    words = ["--generations", "1", "--minutes", "5", "--parallel", "1", "--set", "patience=1"]
    evolve(tmp_path, "run", "--task", str(TASK), *words, "--name", "r", code=None)
    for settings in (["generations=null"], ["generations=50", "prompt_tokens=20000"], ["minutes=null"]):
        evolve(tmp_path, "resume", "r", *(word for setting in settings for word in ("--set", setting)), code=None)
    told = [event["changed"] for event in events(tmp_path) if event["event"] == "resumed"]
    assert told == [{"generations": None}, {"generations": 50, "prompt_tokens": 20000}, {"minutes": None}]
    assert equal(tmp_path)["questions_as_recorded"] == 0  # the offline proposer has no prompts


@pytest.mark.parametrize(
    ("before", "after"),
    [pytest.param("b", "null", marks=pytest.mark.slow), (None, "b"), pytest.param("b", "c", marks=pytest.mark.slow)],
)
def test_another_model_that_mends(tmp_path: Path, before: str | None, after: str) -> None:
    models = commands(tmp_path, "a", script="print('no patch')") + commands(tmp_path, "b", "c")
    for model in models[1:]:
        model["weight"] = 0.0
    config = configure(tmp_path, generations=3, models=models, attempts=2, repair_model=before)
    evolve(tmp_path, "run", config, "--name", "r", code=None)
    evolve(tmp_path, "resume", "r", "--generations", "5", "--set", f"repair_model={after}", code=None)
    asked = [event["model"] for event in events(tmp_path) if event["event"] == "asked" and event["attempt"]]
    assert asked == [before or "a"] * 3 + [after if after != "null" else "a"] * 2
    assert equal(tmp_path)["questions_as_recorded"] == 0


def test_attempts_that_are_not_known_are_not_those_of_a_search_over_numbers(tmp_path: Path) -> None:
    initial = (TASK / "initial.py").read_text()
    (tmp_path / "initial.py").write_text(initial.replace("OFFSET = 60", "OFFSET = int('60')"))  # no number to search
    answers = [["no patch", patch(f"OFFSET -= int('{n}')")] for n in range(1, 12)]
    search = {**SEARCH, "kinds": {**NONE, "tune": 1.0}}
    told = {"attempts": 2, "search": search, "initial": str(tmp_path / "initial.py")}
    config = configure(tmp_path, generations=8, models=[script(tmp_path, answers)], **told)
    finish(tmp_path, "run", config, "--name", "r")
    finish(tmp_path, "resume", "r", "--generations", "10", "--set", "attempts=3")
    refused = [event for event in events(tmp_path) if event["event"] == "refused"]
    assert {(event["reason"], event["attempt"], event["final"]) for event in refused} >= {
        ("no_gain", 0, True),
        ("no_patch", 0, False),
    }
    assert equal(tmp_path)["questions_as_recorded"] == 0


def test_models_that_came_after_the_offline_proposer(tmp_path: Path) -> None:
    words = ["--task", str(TASK), "--generations", "3", "--parallel", "1", "--set", "meta_every=2"]
    evolve(tmp_path, "run", *words, "--name", "r", code=None)
    evolve(tmp_path, "resume", "r", "--generations", "4", code=None)
    (model,) = commands(tmp_path, "a")
    words = ["--generations", "6", "--set", f"models={json.dumps([model])}", "--set", "meta_model=a"]
    evolve(tmp_path, "resume", "r", *words, "--set", "repair_model=a", code=None)
    asked = [event["model"] for event in events(tmp_path) if event["event"] == "asked" and not event["attempt"]]
    assert asked == ["offline"] * 4 + ["a"] * 2
    assert equal(tmp_path)["questions_as_recorded"] == 0


def test_templates_that_were_changed_leave_questions_and_documents_as_they_are_on_record(tmp_path: Path) -> None:
    templates = tmp_path / "templates"
    shutil.copytree(ROOT / "prompts", templates)
    for template in templates.rglob("*.j2"):
        template.write_text("A word before all others.\n" + template.read_text())
    models = [script(tmp_path, [patch(1 + n / 100) for n in range(1, 12)], [META] * 9)]
    config = configure(tmp_path, generations=5, models=models, meta_every=2, prompts_dir=str(templates))
    finish(tmp_path, "run", config, "--name", "r")
    finish(tmp_path, "resume", "r", "--generations", "7", "--set", "prompts_dir=null")
    assert count(tmp_path, "meta_answered") >= 3
    assert equal(tmp_path)["questions_as_recorded"] == 5


def test_a_question_to_a_model_that_the_run_has_not_is_told_as_that(tmp_path: Path) -> None:
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
