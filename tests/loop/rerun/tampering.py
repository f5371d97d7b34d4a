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
    commits: dict[str, str] = {}
    (*_, chosen) = (e for e in events if e["event"] == "answered" and e["generation"] == generation)  # its last attempt
    old = chosen["answer"]
    text = _git(run, "cat-file", "blob", old)
    assert before in text
    new = _git(run, "hash-object", "-w", "--stdin", text=text.replace(before, after)).strip()
    for event in events:
        if event is chosen:
            event["answer"] = new
            tree = _git(run, "ls-tree", event["attempts"]).replace(old, new)
            commits[event["attempts"]] = _commit(run, event["attempts"], commits, tree)
        elif (commit := event.get("attempts")) is not None and commits and commit not in commits:
            commits[commit] = _commit(run, commit, commits, None)
        if event.get("attempts") in commits:
            event["attempts"] = commits[event["attempts"]]
    (run / "journal.jsonl").write_bytes(sealed(events))
    last = next(e["attempts"] for e in reversed(events) if e.get("attempts") is not None)
    _git(run, "update-ref", "refs/evolve/attempts", last)


def _commit(run: Path, commit: str, commits: dict[str, str], tree: str | None) -> str:
    """A new commit on changed parents, with a changed tree if there is one."""
    raw = _git(run, "cat-file", "commit", commit)
    for old, new in commits.items():
        raw = raw.replace(f"parent {old}\n", f"parent {new}\n")
    if tree is not None:
        made = _git(run, "mktree", text=tree).strip()
        raw = f"tree {made}\n" + raw.partition("\n")[2]
    return _git(run, "hash-object", "-t", "commit", "-w", "--stdin", text=raw).strip()


def events(run: Path) -> list[dict[str, Any]]:
    """The events of a run's journal."""
    return list(events_of(run / "journal.jsonl"))
