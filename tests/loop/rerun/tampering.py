"""A record with one answer changed, as somebody would who wants it to hold: objects, ids, chains and sums agree."""

import subprocess
from pathlib import Path
from typing import Any

from tests.journals import events_of, sealed


def _git(folder: Path, *words: str, text: str | None = None) -> str:
    ran = subprocess.run(
        ["git", "--git-dir", str(folder / "programs.git"), *words],
        input=None if text is None else text.encode(),
        capture_output=True,
        check=True,
    )
    return ran.stdout.decode()


def change_answer(run: Path, generation: int, before: str, after: str) -> None:
    """Put `after` in the place of `before` in the answer of a generation, and make the rest of the record agree."""
    events = list(events_of(run / "journal.jsonl"))
    (*_, chosen) = (e for e in events if e["event"] == "answered" and e["generation"] == generation)  # its last attempt
    old = chosen["answer"]
    text = _git(run, "cat-file", "blob", old)
    assert before in text
    new = _git(run, "hash-object", "-w", "--stdin", text=text.replace(before, after)).strip()
    chosen["answer"] = new
    (run / "journal.jsonl").write_bytes(sealed(events))


def events(run: Path) -> list[dict[str, Any]]:
    """The events of a run's journal."""
    return list(events_of(run / "journal.jsonl"))
