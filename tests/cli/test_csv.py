"""`evolve export --csv`: a run as a table that a spreadsheet opens, and runs nothing of."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.review.generations import harmless
from evolve.view.payload import generation_document


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_every_generation_is_a_row(family, evolve):
    found = rows(evolve("export", "family", "--csv"))
    assert [row["generation"] for row in found] == ["0", "1", "2", "3", "4", "5"]
    assert [row["status"] for row in found] == ["evaluated"] * 2 + ["refused"] + ["evaluated"] * 3
    assert [row["reason"] for row in found] == ["", "", "no_match", "", "invalid_output", "quarantined"]
    assert (found[3]["combined_score"], found[3]["parents"], found[3]["correct"]) == ("25.0", "1 0", "true")
    assert (found[2]["combined_score"], found[2]["parents"], found[2]["cost_usd"]) == ("", "0", "0.5")
    assert found[3]["metrics.success_rate"] == "1.0"


def test_the_most_memory_of_a_program_is_in_the_table_in_show_and_on_its_page(
    recorded_runs, make_evaluation, bring, evolve, evolve_json
):
    run = recorded_runs("memory")
    run.propose(1, [run.initial()], source="1", evaluation=replace(make_evaluation(), peak_memory_mb=41.5))
    run.ask(2, [run.archive.reader.programs[0]])
    bring(run.archive.reader)
    found = rows(evolve("export", "memory", "--csv"))
    assert [row["peak_memory_mb"] for row in found[1:]] == ["41.5", ""]
    assert evolve_json("show", "memory", "1")["peak_memory_mb"] == 41.5
    assert generation_document(run.archive.reader, 1)["peak_memory_mb"] == 41.5


def test_it_goes_to_a_file_as_well(family, evolve):
    assert evolve("export", "family", "--csv", "-o", "run.csv").strip() == "run.csv: 6 generations"
    assert len(rows(Path("run.csv").read_text(encoding="utf-8"))) == 6
    assert "--force" in evolve("export", "family", "--csv", "-o", "run.csv", code=2)


def test_it_takes_the_whole_run(family, evolve):
    assert "leave out PROGRAM" in evolve("export", "family", "best", "--csv", code=2)
    assert "PROGRAM is missing" in evolve("export", "family", "-o", "x.py", code=2)


def test_a_formula_is_a_text(recorded_runs, make_evaluation, bring, evolve):
    run = recorded_runs("formulas")
    initial = run.initial()
    run.propose(
        1, [initial], source="1", evaluation=make_evaluation(), name="=cmd|' /C calc'!A0", description="\t@SUM(1)"
    )
    bring(run.archive.reader)
    row = rows(evolve("export", "formulas", "--csv"))[1]
    assert row["patch_name"] == "'=cmd|' /C calc'!A0"
    assert row["description"] == "'\t@SUM(1)"


@pytest.mark.parametrize("text", ["=1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", "  =1", "|x", "%x", "\uff1d1"])
def test_what_begins_as_a_formula_begins_with_an_apostrophe(text):
    assert harmless(text) == f"'{text}".replace("\r", "\n")


def test_a_text_of_several_lines_is_one_cell_whatever_ends_them(recorded_runs, make_evaluation, bring, evolve):
    run = recorded_runs("lines")
    torn = "first\r=cmd|'/C calc'!A0\rmore\r\nend"
    run.propose(1, [run.initial()], source="1", evaluation=make_evaluation(), description=torn)
    bring(run.archive.reader)
    found = list(csv.reader(io.StringIO(evolve("export", "lines", "--csv"), newline="")))
    assert len({len(row) for row in found}) == 1 and len(found) == 3
    assert "first\n=cmd|'/C calc'!A0\nmore\nend" in found[2]


@given(st.text())
def test_every_text_is_harmless_and_plain_ones_stay_as_they_are(text):
    found = harmless(text)
    found.encode("utf-8")
    assert found.lstrip()[:1] not in tuple("=+-@|%")
    if text.isalnum():
        assert found == text


def test_hostile_texts_stay_in_their_cells(hostile, evolve):
    found = rows(evolve("export", "hostile", "--csv"))
    assert [row["generation"] for row in found] == ["0", "1"]
