"""`evolve report`: one file that holds everything, once, and asks nobody."""

import base64
import hashlib
import json
import re
import shutil
import zlib
from pathlib import Path
from typing import Any

import pytest

from evolve.archive.archive import Archive
from evolve.cli.main import main
from evolve.view import payload

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


def opened(file: Path) -> dict[str, Any]:
    """The data of a report, as its page opens it."""
    found = re.search(
        r'<script type="application/octet-stream;base64" id="data">([A-Za-z0-9+/=]*)</script>', _text(file)
    )
    assert found is not None
    document = json.loads(zlib.decompress(base64.b64decode(found[1]), wbits=-zlib.MAX_WBITS))
    return {**document, "runs": [_joined(run, document["lines"]) for run in document["runs"]]}


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _joined(value: Any, lines: list[str]) -> Any:
    if isinstance(value, list):
        return [_joined(each, lines) for each in value]
    if isinstance(value, dict):
        if set(value) == {"$lines"}:
            return "\n".join(lines[number] for number in value["$lines"])
        return {key: _joined(each, lines) for key, each in value.items()}
    return value


def test_a_report_holds_what_the_live_page_is_told(reported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "first"]) == 0
    assert capsys.readouterr().out.startswith("first.html: first, ")
    document = opened(reported / "first.html")
    (run,) = document["runs"]
    with Archive.open(Path("runs/first"), write=False) as archive:
        whole = payload.run_document("first", archive, fingerprint=True)
        generations = {str(number): payload.generation_document(archive, number) for number in archive.statuses}
    told = run.pop("gendocs")
    assert told.keys() == generations.keys()
    for number, generation in generations.items():
        assert told[number] == json.loads(json.dumps(generation))
    assert run == json.loads(json.dumps(whole))
    assert document["compare"] is None


def test_each_line_stands_in_it_once(reported: Path) -> None:
    assert main(["report", "first", "second", "-o", "both.html"]) == 0
    lines = opened(reported / "both.html")["lines"]
    assert len(lines) == len(set(lines))
    assert lines.count("a line that nobody else has") == 1


def test_several_runs_come_with_their_comparison(reported: Path) -> None:
    assert main(["report", "first", "second"]) == 0
    document = opened(reported / "report.html")
    assert [run["name"] for run in document["runs"]] == ["first", "second"]
    assert document["compare"] is not None


def test_nothing_may_run_or_be_loaded_but_what_it_was_made_with(reported: Path) -> None:
    assert main(["report", "first"]) == 0
    page = _text(reported / "first.html")
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
    assert _text(reported / "first.html") == "mine"
    assert main(["report", "first", "--force"]) == 0
    assert opened(reported / "first.html")["format"] == 1


@pytest.mark.parametrize(("words", "why"), [(["nobody"], "there is no run"), (["first", "./runs/first"], "one name")])
def test_what_cannot_be_reported_is_one_sentence(
    reported: Path, words: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *words]) == 2
    errors = capsys.readouterr().err
    assert why in errors
    assert errors.count("\n") == 1
    assert not list(reported.glob("*.html"))


def test_two_reports_of_one_run_are_the_same_file(reported: Path) -> None:
    for name in ("a.html", "b.html"):
        assert main(["report", "first", "-o", name]) == 0
    assert (reported / "a.html").read_bytes() == (reported / "b.html").read_bytes()
