"""`evolve note`: a note on a program travels with the archive."""

import shutil
from pathlib import Path

from evolve.archive.archive import Archive


def test_a_note_is_shown_with_its_program_and_decides_nothing(family, evolve, evolve_json):
    before = evolve_json("list", "family")["fingerprint"]
    assert evolve("note", "family", "best", "  send this one to Ada ").strip() == "noted on generation 3"
    evolve("note", "family", "2", "why was this refused?")
    assert "send this one to Ada" in evolve("show", "family", "best")
    assert "why was this refused?" in evolve("show", "family", "2")
    assert [note["text"] for note in evolve_json("show", "family", "3")["notes"]] == ["send this one to Ada"]
    assert evolve_json("show", "family", "1")["notes"] == []
    listed = evolve_json("list", "family")
    assert listed["fingerprint"] == before
    assert listed["finished"] == "generations"


def test_a_note_travels_with_the_folder(family, evolve):
    evolve("note", "family", "best", "mine")
    shutil.copytree(Path("runs/family"), Path("runs/copy"))
    assert "mine" in evolve("show", "copy", "best")


def test_while_another_process_writes_the_run_there_is_one_clear_sentence(family, evolve):
    with Archive.open(Path("runs/family")):
        output = evolve("note", "family", "best", "too soon", code=2)
    assert len(output.strip().splitlines()) == 1
    assert "is being written by process" in output
    assert "too soon" not in evolve("show", "family", "best")


def test_a_note_says_something_about_a_generation_that_there_is(family, evolve):
    assert "the note is empty" in evolve("note", "family", "best", " ", code=2)
    assert "at most 10000 are allowed" in evolve("note", "family", "best", "x" * 10_001, code=2)
    assert "generation 77 was not begun" in evolve("note", "family", "77", "where?", code=2)


def test_hostile_notes_are_shown_and_not_obeyed(family, evolve):
    evolve("note", "family", "best", "red\x1b[31m\u202e\ud800")
    output = evolve("show", "family", "best")
    assert "red" in output
    assert "\x1b" not in output
    assert "\u202e" not in output
