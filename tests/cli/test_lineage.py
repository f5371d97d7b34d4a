def test_the_chain_runs_from_the_initial_program_with_names_reasons_changes_and_diffs(family, evolve):
    text = evolve("lineage", "family", "best")
    assert text.startswith("Generation 3 in 2 steps: 20.000000 -> 25.000000 (ceiling 26.000000, gap 1.000000)\n")
    for words in (
        "2 better",
        "3 better",
        "wider_b",
        "both (cross)",
        "More of b helps.",
        "generation 1 and generation 0",
    ):
        assert words in text
    assert text.index("-b = 2\n+b = 22\n") < text.index("-c = 3\n+c = 33\n")


def test_the_chain_as_json(family, evolve_json):
    document = evolve_json("lineage", "family", "best")
    assert set(document) == {"run", "program", "steps"}
    assert [step["generation"] for step in document["steps"]] == [0, 1, 3]
    assert [step["change"] for step in document["steps"]] == [None, 2.0, 3.0]
    assert document["steps"][0]["diff"] == ""
    assert "+c = 33" in document["steps"][2]["diff"]
    assert document["steps"][1]["description"] == "More of b helps."
    assert {"commit", "parents", "ceiling", "gap", "quarantined", "outcome"} <= set(document["steps"][1])


def test_a_step_tells_its_held_out_score_what_it_followed_and_all_that_it_is_made_of(lesson, evolve, evolve_json):
    text = evolve("lineage", "lesson", "best")
    assert "held-out     19.750000" in text
    assert "recommendation 2 of the insights report after 2 programs: Take the best of both." in text
    assert "from         generation 1 and generation 0" in text
    (row,) = [line for line in text.splitlines() if line.lstrip().startswith("3 ")]
    assert "19.750000" in row
    step = evolve_json("lineage", "lesson", "best")["steps"][-1]
    assert step["inspirations"] == [lesson.find("0").commit]
    assert step["held_out"]["combined_score"] == 19.75
    assert step["recommendation"].endswith("Take the best of both.")


def test_the_initial_program_has_no_steps(family, evolve):
    assert "is the initial program" in evolve("lineage", "family", "0")


def test_hostile_names_and_reasons_stay_harmless(hostile, evolve, on_terminal):
    text = evolve("lineage", "hostile", "1")
    assert "\x1b" not in text
    assert "\nSigned-off-by" not in text
    assert "\x1b[31m\n" not in on_terminal("lineage", "hostile", "1", NO_COLOR="1")
