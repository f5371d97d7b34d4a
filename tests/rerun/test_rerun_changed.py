"""Runs whose settings were changed at a resume: whatever may be changed, the run comes again."""

import sys
from pathlib import Path
from typing import Any

from tests.rerun.calling import rerun
from tests.run.climbing import configure, count, events, finish, opened

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
