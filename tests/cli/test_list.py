import json
import time
from pathlib import Path

import pytest

from evolve.archive.archive import Archive


def test_the_programs_of_a_run_stand_best_first_and_what_cannot_be_believed_last(family, evolve_json):
    document = evolve_json("list", "family")
    assert set(document) == {
        *(
            "run",
            "task",
            "suite",
            "fingerprint",
            "repeatable",
            "programs",
            "generations",
            "uplift",
            "models",
            "adapted",
            "calls_by_kind",
            "finished",
            "running",
        ),
        *("uplift", "t", "t_last", "model_calls", "tokens", "cost_usd", "overfitted", "fresh"),
        *("since_best", "tuning_baseline"),
        *("tokens_cached", "unanswered_calls", "unanswered_usd"),
        *("calls_under_way", "tokens_under_way", "usd_under_way"),
    }
    assert (document["run"], document["task"], document["suite"]) == ("family", "placement", "adrs")
    assert document["fingerprint"] == family.fingerprint()
    assert [p["generation"] for p in document["programs"]] == [3, 1, 0, 5, 4]


def test_each_program_has_the_keys_of_the_contract(family, evolve_json):
    for program in evolve_json("list", "family")["programs"]:
        assert set(program) == {
            *("generation", "commit", "parents", "island", "patch_kind", "patch_name", "model", "correct"),
            *("outcome", "combined_score", "ceiling", "gap", "quarantined", "metrics", "held_out", "fresh"),
            *(
                "overfitted",
                "excluded",
                "provisional",
                "best_known",
                "gap_to_best_known",
                "self_judged",
                "spread",
                "confirmed",
                "reordered",
                "claimed",
                "on",
            ),
            *("metric", "direction", "value", "beyond_best_known"),
        }
        assert (program["best_known"], program["gap_to_best_known"], program["self_judged"]) == (None, None, False)
    best = evolve_json("list", "family", "--top", "1")["programs"][0]
    assert best["parents"] == [family.find("1").commit, family.find("0").commit]
    assert (best["patch_kind"], best["patch_name"], best["model"]) == ("cross", "both", "a_model")
    assert (best["combined_score"], best["ceiling"], best["gap"], best["quarantined"]) == (25.0, 26.0, 1.0, False)


def test_a_listing_can_be_sorted_and_cut(family, evolve, evolve_json):
    document = evolve_json("list", "family", "--sort", "generation", "--top", "2")
    assert [p["generation"] for p in document["programs"]] == [0, 1]
    assert "'beauty'" in evolve("list", "family", "--sort", "beauty", code=2)


@pytest.mark.parametrize("count", ["0", "-1", "many"])
def test_a_count_that_is_none_is_refused(family, evolve, count):
    with pytest.raises(SystemExit) as caught:
        evolve("list", "family", "--top", count)
    assert caught.value.code == 2


def test_every_generation_is_in_the_json_with_how_it_ended_and_what_it_took(lesson, evolve_json):
    rows = evolve_json("list", "lesson")["generations"]
    asked = {"generation", "status", "reason", "kind", "model", "guidance", "followed"}
    asked |= {"calls", "retries", "repairs", "repairs_usd"}
    assert [set(row) for row in rows] == [asked | {"cost_usd", "tokens", "tuning_evaluations", "t"}] * 6
    rows_shown = [(r["generation"], r["status"], r["reason"], r["kind"], r["model"]) for r in rows]
    assert rows_shown == [
        (0, "evaluated", None, "initial", ""),
        (1, "evaluated", None, "diff", "a_model"),
        (2, "refused", "no_match", "diff", "a_model"),
        (3, "evaluated", None, "diff", "a_model"),
        (4, "evaluated", "invalid_output", "diff", "a_model"),
        (5, "asked", None, "diff", "a_model"),
    ]
    assert [(row["tokens"], row["cost_usd"]) for row in rows[:3]] == [(0, 0.0), (1200, None), (1200, None)]
    assert [row["t"] for row in rows] == [lesson.times[row["generation"]] for row in rows]


def test_all_shows_every_generation_and_failed_those_without_a_correct_program_and_why(lesson, evolve, evolve_json):
    def generations(*words):
        lines = evolve("list", "lesson", *words).partition("\n\n")[2].splitlines()[1:]
        return {int(line.split()[0]): line for line in lines}

    every, failed = generations("--all"), generations("--failed")
    assert list(every) == [0, 1, 2, 3, 4, 5]
    assert list(failed) == [2, 4]
    assert "refused: no_match" in failed[2]
    assert failed[2].endswith("Block 1 matches nothing.")
    assert "invalid_output" in failed[4]
    assert failed[4].endswith("drops_models: instance 1 of 2: model left out")
    assert "both (cross)" in every[3]
    assert "not ended" in every[5]
    assert "unknown" in every[1]
    document = evolve_json("list", "lesson", "--failed")
    assert [row["generation"] for row in document["generations"]] == [2, 4]
    assert [program["generation"] for program in document["programs"]] == [4]
    assert "4 more" in evolve("list", "lesson", "--all", "--top", "2")


def test_best_shows_each_new_best_in_order(lesson, evolve, evolve_json):
    document = evolve_json("list", "lesson", "--best")
    assert [program["generation"] for program in document["programs"]] == [0, 1, 3]
    lines = evolve("list", "lesson", "--best").splitlines()
    assert [line.split()[0] for line in lines[-3:]] == ["0", "1", "3"]
    assert "1 better" in lines[-1]
    assert "19.750000" in lines[-1]


def test_a_cost_that_is_not_known_is_called_unknown_and_never_nothing(lesson, evolve, evolve_json):
    assert "4,000 tokens in, 800 out, cost unknown (no price is given)" in evolve("list", "lesson")
    row = next(line for line in evolve("list").splitlines() if line.startswith("lesson"))
    assert "unknown" in row
    assert "4,800" in row
    assert "0.0000" not in evolve("list").replace(" 1.000000", "")
    assert evolve_json("list")["runs"][0]["cost_usd"] is None
    assert evolve_json("list", "lesson")["cost_usd"] is None


def test_a_run_that_goes_on_is_called_running_and_one_that_was_cut_off_tells_how_to_go_on(
    lesson, recorded_lesson, evolve, evolve_json
):
    assert evolve_json("list")["runs"][0]["running"] is False
    text = evolve("list", "lesson")
    assert "killed" in text
    assert "evolve resume runs/lesson" in text
    with Archive.open(Path("runs/lesson")):
        assert evolve_json("list")["runs"][0]["running"] is True
        assert "running" in evolve("list")
        text = evolve("list", "lesson")
        assert "running" in text
        assert "evolve resume" not in text


@pytest.mark.parametrize("words", [("--all", "--sort", "gap"), ("--best", "--sort", "score"), ("--sort", "")])
def test_orders_that_contradict_each_other_are_refused(lesson, evolve, words):
    assert "sort" in evolve("list", "lesson", *words, code=2)


def test_the_table_shows_scores_with_ceiling_and_gap(family, evolve):
    lines = evolve("list", "family").splitlines()
    assert lines[0].startswith("family: placement/adrs, 5 programs, best is generation 3: 25.000000 (ceiling 26.000000")
    assert lines[1] == "finished; 5 proposals: 4 programs, 1 refused"
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
        "metric": "combined_score",
        "value": 25.0,
        "spread": None,
        "value_bound": 26.0,
        "value_gap": 1.0,
        "self_judged": False,
        "ceiling": 26.0,
        "gap": 1.0,
        "overfitted": None,
        "fresh": {"state": "not_tried", "text": "not tried", "samples": []},
        "finished": "generations",
        "running": False,
        "curve": [20.0, 22.0, 22.0, 25.0, 25.0, 25.0],
        "direction": "maximise",
        "t": family.began,
        "t_last": family.newest,
        "model_calls": 0,  # none was recorded by hand
        "tokens": 180,
        "cost_usd": 3.0,
        "tokens_cached": 0,
        "unanswered_calls": 0,
        "unanswered_usd": 0.0,
        **{"calls_under_way": 0, "tokens_under_way": 0, "usd_under_way": 0.0},
    }
    assert row["t"] <= row["t_last"]
    assert (other["run"], other["programs"], other["best"], other["finished"]) == ("empty", 0, None, None)
    assert other["running"] is False
    table = evolve("list")
    assert "finished" in table
    assert "killed" in table
    assert time.strftime("%Y-%m-%d", time.localtime(family.began)) in table


def test_a_damaged_run_is_reported_and_does_not_hide_the_others(family, evolve_json, capsys):
    folder = Path("runs/broken")
    folder.mkdir()
    (folder / "journal.jsonl").write_text("not a journal\nat all\n")
    document = evolve_json("list")
    assert [row["run"] for row in document["runs"]] == ["family"]
    assert [row["run"] for row in document["unreadable"]] == ["broken"]


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


def test_each_run_has_its_curve_where_there_is_room(family, evolve, on_terminal):
    assert "▁▄▄█" in evolve("list")
    assert "▁▄▄█" in on_terminal("list", width=160)
    narrow = on_terminal("list", width=60)
    assert "▁" not in narrow
    assert "25.000000" in narrow
