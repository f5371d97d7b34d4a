"""`evolve report`: one file that holds everything, once, and asks nobody."""

import base64
import hashlib
import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evolve.archive.reader import RunReader
from evolve.cli.main import main
from evolve.view import payload
from evolve.view.report import without_paths
from tests.journals import rewrite
from tests.loop.climbing import TASK, configure, patch, script
from tests.view.looking import data_of, html_of, texts_of

HOSTILE = "</script><script>alert(1)</script>\u202e\x1b[31m\ud800"
PROMPT = "the rules\n" * 3 + "a line that nobody else has\n"


@pytest.fixture
def reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded_runs, make_evaluation) -> Path:
    """A folder with the runs `first` and `second`, which becomes the current one."""
    for name in ("first", "second"):
        run = recorded_runs(name)
        initial = run.initial("a = 1\nb = 2\n")
        run.propose(1, [initial], source="a = 2\nb = 2\n", evaluation=make_evaluation(score=22.0), answer=PROMPT)
        run.ask(2, [initial], answer=f"{PROMPT}{HOSTILE}\n{HOSTILE}")
        run.archive.refused(2, 0, reason="no_patch", message=HOSTILE, final=True)
        run.archive.stopped("generations")
        shutil.copytree(run.archive.folder, tmp_path / "runs" / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_report_holds_what_the_live_page_is_shown(reported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "first"]) == 0
    assert capsys.readouterr().out.startswith("first.html: first, ")
    document = data_of(reported / "first.html")
    (run,) = document["runs"]
    with RunReader.open(Path("runs/first")) as archive:
        whole = payload.run_document("first", archive, fingerprint=True)
        generations = {str(number): payload.generation_document(archive, number) for number in archive.statuses}
    shown = run.pop("gendocs")
    assert shown.keys() == generations.keys()
    for number, generation in generations.items():
        assert shown[number] == json.loads(json.dumps(generation))
    assert run == json.loads(json.dumps(whole))
    assert document["compare"] is None


def test_each_line_stands_in_it_once(reported: Path) -> None:
    assert main(["report", "first", "second", "-o", "both.html"]) == 0
    lines = data_of(reported / "both.html")["lines"]
    assert len(lines) == len(set(lines))
    assert lines.count("a line that nobody else has") == 1


def test_several_runs_come_with_their_comparison(reported: Path) -> None:
    assert main(["report", "first", "second"]) == 0
    document = data_of(reported / "report.html")
    assert [run["name"] for run in document["runs"]] == ["first", "second"]
    assert document["compare"] is not None


def test_a_text_that_many_questions_name_stands_once_and_one_too_long_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded_runs
) -> None:
    run = recorded_runs("repeats")
    initial = run.initial()
    for generation in range(1, 31):
        run.ask(generation, [initial], answer="\n" * (15_000 if generation < 30 else 3_000_000))
    shutil.copytree(run.archive.folder, tmp_path / "runs" / "repeats")
    monkeypatch.chdir(tmp_path)
    assert main(["report", "repeats"]) == 0
    document = data_of(tmp_path / "repeats.html")
    assert sum(map(len, document["texts"])) < 20_000
    answers = [document["runs"][0]["gendocs"][str(n)]["attempts"][0]["answer"] for n in range(1, 31)]
    assert answers[:-1] == ["\n" * 15_000] * 29
    assert answers[-1].startswith("(left out: longer than a report takes: 3,000,000 characters, 3,000,001 lines;")


def test_a_text_that_is_too_long_is_read_once_however_many_others_are_named_in_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded_runs
) -> None:
    monkeypatch.setattr("evolve.view.report.MOST_CHARACTERS", 300)
    monkeypatch.setattr("evolve.view.report._KEPT", 2)
    run, read, texts = recorded_runs("cycles"), Counter[str](), RunReader.text
    initial = run.initial()
    for generation in range(1, 10):
        run.ask(generation, [initial], answer="abc"[generation % 3] * 400)
    answers = {run.archive.reader.attempts(generation)[0].answer for generation in range(1, 10)}
    shutil.copytree(run.archive.folder, tmp_path / "runs" / "cycles")
    monkeypatch.chdir(tmp_path)

    def text(reader: RunReader, name: str) -> str:
        read[name] += 1
        return texts(reader, name)

    monkeypatch.setattr(RunReader, "text", text)
    assert main(["report", "cycles"]) == 0
    assert [read[name] for name in answers] == [1, 1, 1]


def test_what_is_short_stands_in_a_report_that_has_no_room_for_a_long_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recorded_runs
) -> None:
    monkeypatch.setattr("evolve.view.report.MOST_OF_ALL", 100_000)
    run = recorded_runs("full")
    initial = run.initial()
    for generation, answer in enumerate(("long " * 40_000, "short " * 40), 1):
        run.ask(generation, [initial], answer=answer)
    shutil.copytree(run.archive.folder, tmp_path / "runs" / "full")
    monkeypatch.chdir(tmp_path)
    assert main(["report", "full"]) == 0
    (read,) = data_of(tmp_path / "full.html")["runs"]
    long, short = (read["gendocs"][str(n)]["attempts"][0]["answer"] for n in (1, 2))
    assert long.startswith("(left out: this report holds ")
    assert short == "short " * 40


def test_runs_of_one_name_in_two_folders_are_distinguished_by_their_paths(reported: Path, chromium: Any) -> None:
    for name, folder in (("first", "x1"), ("second", "x2")):
        shutil.copytree(f"runs/{name}", f"{folder}/a")
    assert main(["report", "x1/a", "x2/a"]) == 0
    document = data_of(reported / "report.html")
    assert [run["name"] for run in document["runs"]] == ["x1/a", "x2/a"]
    groups = [group for judge in document["compare"]["judges"] for group in judge["groups"]]
    compared = [run["run"] for group in groups for run in group["runs"]]
    assert compared == ["x1/a", "x2/a"]
    views = ["", "run/x1%2Fa", "run/x2%2Fa/program/1", "compare/x1%2Fa+x2%2Fa"]
    table, first, _, comparison = texts_of(chromium, reported / "report.html", views)
    assert "x1/a" in table and "x2/a" in table and "x1/a" in first
    assert "x1/a" in comparison and "x2/a" in comparison


def test_a_run_and_its_copy_are_both_reported_and_not_compared(reported: Path) -> None:
    shutil.copytree("runs/first", "runs/copy")

    def same(event: dict[str, Any]) -> None:
        if event["event"] == "created":
            event["run_id"] = "a" * 32

    for name in ("first", "copy"):
        rewrite(Path("runs", name, "journal.jsonl"), same)
    assert main(["report", "first", "second", "copy"]) == 0
    document = data_of(reported / "report.html")
    assert [run["name"] for run in document["runs"]] == ["first", "second", "copy"]
    shown = {"apart": "first and copy are the same run, so these runs are not compared.", "judges": []}
    assert document["compare"] == shown


def test_nothing_may_run_or_be_loaded_but_what_it_was_made_with(reported: Path) -> None:
    assert main(["report", "first"]) == 0
    page = html_of(reported / "first.html")
    policy = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    (script,) = re.findall(r'<script type="module">(.*?)</script>', page, re.DOTALL)

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert policy == [
        f"default-src 'none'; script-src {digest(script)}; style-src {digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    ]
    assert page.replace(script, "").count("<script") == 2
    assert "alert(1)" not in page
    assert not re.search(r"""(?:src|href)=["'](?!data:|#)""", page.replace(script, ""))


def test_no_file_is_overwritten_unasked(reported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (reported / "first.html").write_text("mine")
    assert main(["report", "first"]) == 2
    assert "first.html exists already" in capsys.readouterr().err
    assert html_of(reported / "first.html") == "mine"
    assert main(["report", "first", "--force"]) == 0
    assert data_of(reported / "first.html")["format"] == 1


def test_what_is_no_file_is_not_written_to(reported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    assert main(["report", "first", "-o", "pipe", "--force"]) == 2  # and does not wait for a reader of the pipe
    assert "pipe is not a file, so it cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "why"), [(["nobody"], "there is no run"), (["first", "./runs/first"], "named twice")]
)
def test_what_cannot_be_reported_is_one_sentence(
    reported: Path, words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *words]) == 2
    errors = capsys.readouterr().err
    assert why in errors
    assert errors.count("\n") == 1
    assert not list(reported.glob("*.html"))


def test_no_configuration_in_it_tells_where_things_lie_on_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "home of, Ada's" / "my (own) #1"
    place.mkdir(parents=True)
    monkeypatch.chdir(place)
    shutil.copytree(TASK, place / "climb")
    far = {"model": "m", "base_url": "http://127.0.0.1:9/v1/deep/er", "api_key_env": None, "weight": 0.0}
    for name, steps in (("one", [0.01]), ("two", [0.01, 0.02])):
        script_of = place / f"{name} script"
        script_of.mkdir()
        models = [script(script_of, [patch(step) for step in steps]), far]
        config = configure(place, task=str(place / "climb"), models=models, generations=len(steps))
        assert main(["run", config, "--name", name]) == 0
    assert main(["report", "one", "two"]) == 0
    document = data_of(place / "report.html")
    config = document["runs"][0]["config"]
    shown = json.dumps(document)
    for word in (str(tmp_path), "Ada", "my (own)", "one script", "two script"):
        assert word not in shown
    assert 'task: "…/climb"' in config["text"]
    assert ["task", "placement", "…/climb"] in config["changed"]
    assert "scripted:…/script.yaml" in config["text"]
    assert "http://127.0.0.1:9/v1/deep/er" in config["text"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/me/x.yaml", "…/x.yaml"),
        ("/home/me/", "…/me"),
        ("scripted:/home/me/a b/x.yaml", "scripted:…/x.yaml"),
        ("relative/x.yaml", "relative/x.yaml"),
        ("https://host/v1/chat/more", "https://host/v1/chat/more"),
        ('task: "/a b/c"  # or/and /x/y', 'task: "…/c"  # or/and …/y'),
        ("/home/me/run.yaml, line 3: is not valid", "…/run.yaml, line 3: is not valid"),
        ("placement / adrs", "placement / adrs"),
        (3, 3),
        ({"a": ["/b/c", None]}, {"a": ["…/c", None]}),
    ],
)
def test_a_path_is_shown_by_its_last_part(text: object, shown: object) -> None:
    assert without_paths(text) == shown


def test_two_reports_of_one_run_are_the_same_file(reported: Path) -> None:
    for name in ("a.html", "b.html"):
        assert main(["report", "first", "-o", name]) == 0
    assert (reported / "a.html").read_bytes() == (reported / "b.html").read_bytes()
