import json
from pathlib import Path

import pytest


def test_the_programs_of_a_run_stand_best_first_and_what_cannot_be_believed_last(family, evolve_json):
    told = evolve_json("list", "family")
    assert set(told) == {"run", "task", "suite", "fingerprint", "programs"}
    assert (told["run"], told["task"], told["suite"]) == ("family", "placement", "adrs")
    assert told["fingerprint"] == family.fingerprint()
    assert [p["generation"] for p in told["programs"]] == [3, 1, 0, 5, 4]


def test_each_program_has_the_keys_of_the_contract(family, evolve_json):
    for program in evolve_json("list", "family")["programs"]:
        assert set(program) == {
            *("generation", "commit", "parents", "island", "patch_kind", "patch_name", "model", "correct"),
            *("outcome", "combined_score", "ceiling", "gap", "quarantined", "metrics", "held_out"),
        }
    best = evolve_json("list", "family", "--top", "1")["programs"][0]
    assert best["parents"] == [family.find("1").commit, family.find("0").commit]
    assert (best["patch_kind"], best["patch_name"], best["model"]) == ("cross", "both", "a_model")
    assert (best["combined_score"], best["ceiling"], best["gap"], best["quarantined"]) == (25.0, 26.0, 1.0, False)


def test_a_listing_can_be_sorted_and_cut(family, evolve, evolve_json):
    told = evolve_json("list", "family", "--sort", "generation", "--top", "2")
    assert [p["generation"] for p in told["programs"]] == [0, 1]
    assert "'beauty'" in evolve("list", "family", "--sort", "beauty", code=2)


@pytest.mark.parametrize("count", ["0", "-1", "many"])
def test_a_count_that_is_none_is_refused(family, evolve, count):
    with pytest.raises(SystemExit) as caught:
        evolve("list", "family", "--top", count)
    assert caught.value.code == 2


def test_the_table_shows_scores_with_ceiling_and_gap(family, evolve):
    lines = evolve("list", "family").splitlines()
    assert lines[0].startswith("family: placement/adrs, 5 programs, best is generation 3: 25.000000 (ceiling 26.000000")
    assert lines[1] == "stopped: generations; generations: 5 evaluated, 1 refused"
    row = next(line.split() for line in lines if "both" in line)
    assert row[0] == "3"
    assert row[2:5] == ["25.000000", "26.000000", "1.000000"]
    assert any("95.0400" in line and line.endswith("quarantined") for line in lines)


def test_the_runs_there_are(family, empty, evolve, evolve_json):
    row, other = evolve_json("list")["runs"][1], evolve_json("list")["runs"][0]
    assert row == {
        "run": "family",
        "task": "placement",
        "suite": "adrs",
        "programs": 5,
        "best": 25.0,
        "ceiling": 26.0,
        "gap": 1.0,
        "finished": "generations",
    }
    assert (other["run"], other["programs"], other["best"], other["finished"]) == ("empty", 0, None, None)
    assert "not finished" in evolve("list")


def test_a_damaged_run_is_told_and_does_not_hide_the_others(family, evolve_json, capsys):
    folder = Path("runs/broken")
    folder.mkdir()
    (folder / "journal.jsonl").write_text("not a journal\nat all\n")
    told = evolve_json("list")
    assert [row["run"] for row in told["runs"]] == ["family"]
    assert [row["run"] for row in told["unreadable"]] == ["broken"]


def test_without_any_run_it_says_how_to_begin(tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    assert "make one with: " in evolve("list")
    assert evolve_json("list") == {"runs": [], "unreadable": []}


def test_an_unknown_run_is_one_sentence_with_the_nearest(family, evolve):
    assert "did you mean 'family'" in evolve("list", "famliy", code=2)


def test_sorting_the_runs_is_refused(family, evolve):
    assert "name the RUN" in evolve("list", "--top", "3", code=2)


def test_hostile_names_stay_in_their_cell(hostile, evolve, evolve_json):
    text = evolve("list", "hostile")
    assert "\x1b" not in text
    assert "\nSigned-off-by" not in text
    assert max(map(len, text.splitlines())) < 1000
    json.dumps(evolve_json("list", "hostile"))
    assert evolve_json("list", "hostile", "--sort", "generation")["programs"][1]["patch_name"].startswith("red\x1b[31m")


def test_a_terminal_gets_colours_and_whole_lines_and_nothing_hostile(family, hostile, on_terminal):
    text = on_terminal("list", "hostile", width=100)
    assert "\x1b[31mred" not in text
    assert "\x1b[31m\n" not in text
    assert "red\\x1b[31m" in text
    assert "\x1b[" in on_terminal("list", "family")
    assert "\x1b[3" not in on_terminal("list", "family", NO_COLOR="1")
    plain = on_terminal("list", "family", NO_COLOR="1", TERM="dumb", width=80)
    assert all(len(line) <= 80 for line in plain.splitlines()[2:])
