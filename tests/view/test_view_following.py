"""`evolve view` follows runs that are damaged, moved, linked or begun while it looks."""

import os
import shutil
from pathlib import Path

from tests.view.serving import serving


def test_a_damaged_journal_is_said_and_others_are_shown_as_before(tmp_path: Path, runs: Path) -> None:
    shutil.copytree(runs / "runs", tmp_path / "runs", symlinks=True)
    journal = tmp_path / "runs" / "first" / "journal.jsonl"
    whole = journal.read_bytes()
    with serving(tmp_path) as served, served.listening("first") as events:
        assert served.ask("/api/run/first").status == 200
        journal.write_bytes(whole + b"nonsense\n")
        kind, event = next(events)
        assert kind == "trouble"
        assert "journal.jsonl, line" in event["error"]
        answer = served.ask("/api/run/first")
        assert answer.status == 503
        assert "is damaged" in answer.json["error"]
        listed = served.ask("/api/runs").json
        assert [row["name"] for row in listed["runs"]] == ["second"]
        assert [(entry["run"], "is damaged" in entry["reason"]) for entry in listed["unreadable"]] == [("first", True)]
        journal.write_bytes(whole)
        assert next(events) == ("trouble", {"error": ""})
        assert next(events)[1]["gens"]["n"] == [0, 1, 2]
        assert served.ask("/api/run/first").status == 200


def test_a_journal_that_was_changed_where_it_had_been_read_is_damaged(tmp_path: Path, runs: Path) -> None:
    shutil.copytree(runs / "runs", tmp_path / "runs", symlinks=True)
    journal = tmp_path / "runs" / "first" / "journal.jsonl"
    with serving(tmp_path) as served, served.listening("first") as events:
        assert served.ask("/api/run/first").status == 200
        with journal.open("r+b") as file:
            file.seek(journal.stat().st_size // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
        kind, event = next(events)
        assert (kind, "journal.jsonl, line" in event["error"]) == ("trouble", True)
        assert served.ask("/api/run/first").status == 503


def test_a_run_that_moves_away_and_comes_back_is_followed_on(tmp_path: Path, runs: Path) -> None:
    shutil.copytree(runs / "runs", tmp_path / "runs", symlinks=True)
    with serving(tmp_path) as served, served.listening("first") as events:
        assert served.ask("/api/run/first").status == 200
        (tmp_path / "runs" / "first").rename(tmp_path / "elsewhere")
        kind, event = next(events)
        assert (kind, "there is no run folder of that name" in event["error"]) == ("trouble", True)
        assert served.ask("/api/run/first").status == 503
        assert [row["name"] for row in served.ask("/api/runs").json["runs"]] == ["second"]
        (tmp_path / "elsewhere").rename(tmp_path / "runs" / "first")
        assert next(events) == ("trouble", {"error": ""})
        assert next(events)[1]["best"] == 1


def test_a_link_in_the_place_of_a_run_that_was_shown_is_not_followed(tmp_path: Path, runs: Path) -> None:
    shutil.copytree(runs / "runs" / "first", tmp_path / "runs" / "first")
    shutil.copytree(runs / "outside", tmp_path / "outside")
    with serving(tmp_path) as served, served.listening("first") as events:
        assert served.ask("/api/run/first").status == 200
        (tmp_path / "runs" / "first").rename(tmp_path / "elsewhere")
        (tmp_path / "runs" / "first").symlink_to(tmp_path / "outside")
        for path in ("/api/run/first", "/api/run/first/gen/1", "/api/run/first/code/1"):
            answer = served.ask(path)
            assert answer.status == 503
            assert "is a link now" in answer.json["error"]
        while "is a link now" not in next(events)[1].get("error", ""):
            pass
        (tmp_path / "runs" / "first").unlink()
        (tmp_path / "elsewhere").rename(tmp_path / "runs" / "first")
        assert served.ask("/api/run/first").status == 200


def test_a_link_to_a_run_is_shown_where_it_leads(tmp_path: Path, runs: Path) -> None:
    shutil.copytree(runs / "runs", tmp_path / "elsewhere", symlinks=True)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "linked").symlink_to("../elsewhere/first")
    with serving(tmp_path, "linked", "--no-open") as served:
        assert served.address.endswith("#/run/first")
        assert served.ask("/api/run/first").status == 200


def test_a_run_that_begins_later_is_found(tmp_path: Path, runs: Path) -> None:
    (tmp_path / "runs").mkdir()
    with serving(tmp_path) as served:
        assert served.ask("/api/runs").json == {"runs": [], "unreadable": []}
        assert served.ask("/api/run/second").status == 404
        shutil.copytree(runs / "runs" / "second", tmp_path / "runs" / "second")
        assert served.ask("/api/run/second").status == 200
