"""A task of one's own that asks item by item goes the whole way: run, replay, score."""

from pathlib import Path

ONLINE = str(Path(__file__).resolve().parent.parent / "data" / "online")


def test_a_task_that_asks_item_by_item_is_a_task_like_any_other(tmp_path, monkeypatch, evolve, evolve_json):
    monkeypatch.chdir(tmp_path)
    evolve("run", "--task", ONLINE, "--name", "r", "--generations", "10", "--parallel", "1")
    (run,) = evolve_json("list")["runs"]
    assert (run["task"], run["suite"]) == ("online", "small")
    assert run["programs"] > 5
    programs = evolve_json("list", "r")["programs"]
    scores = {program["generation"]: program["combined_score"] for program in programs}
    assert max(scores.values()) > scores[0]
    assert evolve_json("replay", "r", "best")["equal"] is True
    evolve("export", "r", "best", "-o", "best.py")
    suites = ("small", "holdout")
    small, held_out = (evolve_json("score", "--task", ONLINE, "--suite", name, "best.py")[0] for name in suites)
    assert small["combined_score"] == max(scores.values())
    assert held_out["correct"]
    assert "agrees" in evolve("score", "--task", ONLINE, "--strict", "best.py")


def test_a_failure_names_the_item_and_the_instance(tmp_path, monkeypatch, evolve_json):
    monkeypatch.chdir(tmp_path)
    Path("wrong.py").write_text("def choose_bin(size, room, capacity):\n    return 0\n")
    (row,) = evolve_json("score", "--task", ONLINE, "wrong.py", code=0)
    assert not row["correct"]
    assert {failure["outcome"] for failure in row["failures"]} == {"infeasible"}
    assert row["failures"][0]["detail"].startswith("item ") and "has no room" in row["failures"][0]["detail"]
