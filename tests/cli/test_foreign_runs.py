"""Going on with somebody else's run is a decision; looking at one is safe."""

import os
import shutil
from pathlib import Path

import pytest

from evolve.archive.events import read_event
from evolve.cli.main import main
from tests.journals import events_of, rewrite, sealed

ROOT = Path(__file__).resolve().parents[1]
CLIMB = str(ROOT / "data" / "climb")


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("sys.stdin", open(os.devnull))  # noqa: SIM115, PTH123
    return tmp_path


@pytest.fixture
def own_task(home):
    """A task of the user's own, whose judge leaves a trace when it is loaded."""
    folder = home / "climb"
    shutil.copytree(ROOT / "data" / "climb", folder)
    judge = folder / "judge.py"
    judge.write_text(judge.read_text() + f"\nopen({str(home / 'loaded')!r}, 'a').write('x')\n")
    return folder


@pytest.fixture
def begun(home, own_task, evolve):
    evolve_code = main(["run", "--task", str(own_task), "--name", "mine", "--generations", "1", "--set", "parallel=1"])
    assert evolve_code in (0, 1)
    (home / "loaded").unlink()
    return home / "runs" / "mine"


def _forget(home):
    shutil.rmtree(home / "state")


def test_ones_own_run_is_replayed_and_resumed_without_asking(begun, evolve):
    evolve("replay", "mine", "0")
    assert main(["resume", "mine", "--generations", "2"]) in (0, 1)


def test_the_judge_of_somebody_elses_run_is_not_loaded(home, begun, own_task, evolve):
    _forget(home)
    assert "--task FOLDER" in evolve("replay", "mine", "0", code=2)
    output = evolve("resume", "mine", "--generations", "2", code=2)
    assert f"task folder {own_task}" in output
    assert "resume runs/mine --trust" in output
    assert not (home / "loaded").exists()
    evolve("replay", "mine", "0", "--task", own_task)
    evolve("replay", "mine", "0", "--trust")
    assert (home / "loaded").exists()
    assert main(["resume", "mine", "--generations", "2", "--trust"]) in (0, 1)
    assert main(["resume", "mine", "--generations", "3"]) in (0, 1), "trusted once, it counts as one's own"


def test_a_task_that_differs_is_refused_with_what_helps(home, begun, own_task, evolve):
    adapter = own_task / "judge.py"
    adapter.write_text(adapter.read_text() + "\n# changed\n")
    output = evolve("replay", "mine", "0", "--task", own_task, code=2)
    assert "this task has changed since it scored this run" in output
    assert "--rescore" in output


def _give_models(run: Path, key: str, value: str) -> None:
    """What somebody who has the archive can do: change its configuration, and the digest with it."""
    import hashlib

    config = (run / "run.yaml").read_text()
    head, _, rest = config.partition("\nmodels:")
    models = f"[{{model: m, base_url: 'http://127.0.0.1:9/v1', {key}: {value}}}]"
    text = f"{head}\nmodels: {models}\n{rest.partition(chr(10))[2]}"
    (run / "run.yaml").write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    rewrite(run / "journal.jsonl", lambda event: event.update(config=digest) if "config" in event else None)


def test_no_key_is_read_for_an_endpoint_that_a_run_came_back_with(home, evolve, monkeypatch):
    evolve("run", "--task", CLIMB, "--name", "given", "--generations", "1", "--set", "parallel=1", "--set", "workers=1")
    assert len(list((home / "state" / "evolve" / "runs").iterdir())) == 1
    _give_models(home / "runs" / "given", "api_key_env", "MY_SECRET")
    monkeypatch.setenv("MY_SECRET", "s3cret")
    output = evolve("resume", "given", "--generations", "2", code=2)
    assert "model m: prompts go to http://127.0.0.1:9/v1, with the key in $MY_SECRET" in output
    assert "s3cret" not in output
    assert evolve("list", "given"), "looking needs no trust"


def test_a_run_that_names_nothing_but_what_is_built_in_needs_no_trust(home, evolve):
    # The initial program fails on this suite, so that the run is short. A run that needs trust ends with code 2.
    words = ["--suite", "tight", "--generations", "1", "--set", "parallel=1", "--set", "workers=1"]
    assert main(["run", "--name", "plain", *words]) in (0, 1)
    _forget(home)
    assert main(["resume", "plain", "--generations", "2"]) in (0, 1)


def test_a_state_folder_that_cannot_be_written_ends_no_run(home, evolve, monkeypatch, capsys):
    (home / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "file"))
    assert main(["run", "--task", CLIMB, "--name", "a", "--generations", "1", "--set", "parallel=1"]) == 0
    assert "could not be noted" in capsys.readouterr().err


def test_a_pipe_in_one_run_keeps_no_other_from_being_listed(family, evolve_json, evolve):
    for number in range(30):
        broken = Path("runs") / f"broken{number}"
        shutil.copytree("runs/family", broken)
        (broken / "journal.jsonl").unlink()
        os.mkfifo(broken / "journal.jsonl")
    document = evolve_json("list")
    assert [row["run"] for row in document["runs"]] == ["family"]
    assert "is a named pipe" in document["unreadable"][0]["reason"]
    assert len(document["unreadable"]) == 30
    assert "family" in evolve("list")


HOSTILE = "\x1b[31m\x1b]8;;http://evil\x07\u202e\u2066\r\n\x9b" + "y" * 60_000


def _poisoned(value):
    """`value` with hostile text in every place of it."""
    if isinstance(value, dict):
        return {key: _poisoned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_poisoned(item) for item in value]
    return HOSTILE if isinstance(value, str) else value


def _sound(event):
    try:
        read_event(event)
    except ValueError:
        return False
    return True


def _poison(event):
    """An event with hostile text in every field that may hold any text."""
    for key in list(event):
        if key != "event" and _sound(candidate := {**event, key: _poisoned(event[key])}):
            event = candidate
    for section in ("origin", "evaluation"):
        for key in event.get(section, {}):
            inner = {**event[section], key: _poisoned(event[section][key])}
            if _sound(candidate := {**event, section: inner}):
                event = candidate
    if "evaluation" in event:
        event["evaluation"]["metrics"][HOSTILE[:150]] = 1.0
        event["evaluation"]["objective"] |= {"metric": HOSTILE[:150], "unit": HOSTILE[:150]}
    return event


COMMANDS = [
    ["list"],
    ["list", "lesson"],
    ["list", "lesson", "--all"],
    ["list", "lesson", "--failed"],
    ["list", "lesson", "--best"],
    *(["show", "lesson", str(number)] for number in range(6)),
    ["show", "lesson", "4", "--instances"],
    ["show", "lesson", "3", "--reasoning"],
    ["diff", "lesson", "1", "3"],
    ["lineage", "lesson", "best"],
    ["insights", "lesson"],
    ["insights", "lesson", "--all"],
    ["export", "lesson", "best", "-o", "out.py"],
]


def test_no_command_prints_what_a_terminal_would_obey(lesson, capsys):
    journal = Path("runs/lesson/journal.jsonl")
    poisoned = [_poison(event) for event in events_of(journal)]
    journal.write_bytes(sealed(poisoned))
    assert str(poisoned).count("evil") > 20
    for words in COMMANDS:
        for form in ([], ["--json"]) if words[0] in ("list", "show", "lineage", "insights") else ([],):
            code = main([*words, *form])
            out, err = capsys.readouterr()
            assert code in (0, 2), (words, err)
            found = {c for c in out + err if c not in "\n\t" and not c.isprintable()}
            assert found == set(), (words, form, found)
            assert form or len(out + err) < 500_000, words
    assert sorted(path.name for path in Path().iterdir()) == ["out.py", "runs"]
