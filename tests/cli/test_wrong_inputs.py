"""Whatever is typed wrongly is answered with one sentence and exit code 2, and writes nothing."""

from pathlib import Path

import pytest

from evolve.archive.archive import Archive
from evolve.cli.main import main

CLIMB = str(Path(__file__).resolve().parent.parent / "data" / "climb")
PROGRAM = str(Path(__file__).resolve().parent.parent.parent / "programs" / "placement" / "initial.py")
KEY = "sk-proj-0123456789abcdef"


def the(*words: str, says: str) -> object:
    return pytest.param(words, says, id=" ".join(words)[:60] or "(nothing)")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        the("frobnicate", says="frobnicate"),
        the("list", "--bogus", "a\nb", says="--bogus"),
        the("run", "--generations", "0", says="generations"),
        the("run", "--generations", "1e3", says="--generations"),
        the("run", "--minutes", "nan", says="minutes"),
        the("run", "--minutes", "inf", says="minutes"),
        the("run", "--budget-usd", "-1", says="budget_usd"),
        the("run", "--budget-usd", "5", says="no model is named"),
        the("run", "--parallel", "100000", says="1024"),
        the("run", "bad.yaml", says="bad.yaml, line 2"),
        the("run", "list.yaml", says="must be a mapping"),
        the("run", "binary", says="binary"),
        the("run", "folder", says="folder"),
        the("run", "loop", says="loop"),
        the("run", "--task", "folder", says="task.yaml"),
        the("run", "--task", "", says="there is no task"),
        the("run", "--suite", "", says="suite"),
        the("run", "--name", "..", says="--name"),
        the("run", "--name", "a\nb", says="--name"),
        the("run", "--name", "lesson", says="exists already"),
        the("run", "--set", "=3", says="unknown key"),
        the("run", "--set", "search=3", says="search"),
        the("run", "--set", "models=[{", says="not a YAML value"),
        the("run", "--set", "models.0.name=x", says="models"),
        the("run", "--set", f"models=[{{model: m, api_key_env: {KEY}}}]", says="NAME of an environment variable"),
        the("run", "--set", f"models=[{{model: m, api_key_env: {KEY}}}]", "--print-config", says="NAME"),
        the("run", "--model", "", says="model"),
        the("run", "--model", "scripted:missing.yaml", says="missing.yaml"),
        the("run", "--model", "scripted:binary", says="binary"),
        the("run", "--set", "initial=binary", says="not UTF-8"),
        the("run", "--set", "initial=folder", says="cannot be read"),
        the("resume", "nosuch", says="nosuch"),
        the("resume", "folder", says="it lacks"),
        the("resume", "lesson", "--generations", "0", says="generations"),
        the("score", says="FILE"),
        the("score", "folder", says="not a file"),
        the("score", "", says="not a file"),
        the("score", PROGRAM, "--task", "folder", says="there is no task"),
        the("score", PROGRAM, "--baseline", "foo", says="--baseline"),
        the("patch", PROGRAM, "binary", says="not UTF-8"),
        the("patch", PROGRAM, "folder", says="not a file"),
        the("list", "nosuch", says="nosuch"),
        the("list", "--failed", says="name the RUN"),
        the("list", "lesson", "--sort", "beauty", says="beauty"),
        the("list", "lesson", "--all", "--best", says="not allowed"),
        the("show", "lesson", says="PROGRAM"),
        the("show", "lesson", "999", says="generation 999"),
        the("show", "lesson", "-1", says="-1"),
        the("show", "lesson", "a\x1b[31mb", says="'a\\x1b[31mb'"),
        the("show", "lesson", "0", "--reasoning", says="no reasoning"),
        the("show", "lesson", "1", "--instances", "--task", CLIMB, says="climb"),
        the("diff", "lesson", "0", says="B"),
        the("lineage", "lesson", "77", says="77"),
        the("insights", "lesson", "--at", "-1", says="--at"),
        the("export", "lesson", "best", says="-o"),
        the("export", "lesson", "best", "-o", "folder", says="exists already"),
        the("export", "lesson", "best", "-o", "folder/a/b", says="cannot be written"),
        the("replay", "lesson", "77", says="77"),
        the("bounds", "nosuch", says="nosuch"),
        the("bounds", "placement", "--instances", "5-2", says="5-2"),
        the("bounds", "placement", "--limit", "5", says="--verify"),
        the("doctor", "--endpoint", "empty.yaml", says="no model is named"),
        the("doctor", "--model", "x", says="--endpoint"),
    ],
)
def test_it_is_one_sentence_and_nothing_is_written(lesson, capsys, words, says) -> None:
    Path("bad.yaml").write_text("seed: [1\n")
    Path("list.yaml").write_text("- 1\n")
    Path("empty.yaml").write_text("")
    Path("binary").write_bytes(b"\x89PNG\xff\x00" * 50)
    Path("folder").mkdir()
    Path("loop").symlink_to("loop")
    Archive.open(lesson.folder).close()  # as a session leaves it
    before = sorted(str(path) for path in Path.cwd().rglob("*") if path.name != "lock")
    try:
        code = main(list(words))
    except SystemExit as end:
        code = end.code
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("evolve")
    assert says in err
    assert KEY not in err
    assert "\x1b" not in err
    after = sorted(str(path) for path in Path.cwd().rglob("*") if path.name != "lock")
    assert after == before
