import pytest

from evolve.cli.main import main


def test_the_overview_tells_origin_score_change_and_reason(family, evolve):
    text = evolve("show", "family", "1")
    assert text.startswith("Generation 1: wider_b\n")
    for words in (
        "22.000000 (ceiling 26.000000, gap 4.000000)",
        "2 better than generation 0 (20.000000)",
        "diff, a_model",
        "More of b helps.",
        family.find("1").commit,
    ):
        assert words in text


def test_a_failing_program_shows_its_failing_instances(family, evolve):
    assert "invalid_output: instance 1 of 2: model left out" in evolve("show", "family", "4")


def test_a_quarantined_program_shows_the_reason(family, evolve):
    assert "instance 3 beats its bound" in evolve("show", "family", "5")


def test_a_second_attempt_is_shown_with_the_first(family, evolve, evolve_json):
    text = evolve("show", "family", "best")
    assert "attempt 1: refused (no_patch)" in text
    assert "attempt 2: evaluated" in text
    attempts = evolve_json("show", "family", "best")["attempts"]
    assert [a["status"] for a in attempts] == ["refused", "evaluated"]
    assert attempts[0]["message"] == "There is no patch in this answer."
    assert attempts[0]["tokens_out"] == 20


def test_the_record_as_json_holds_the_whole_verdict(family, evolve_json):
    document = evolve_json("show", "family", "4")
    assert document["failures"] == [{"instance": 1, "outcome": "invalid_output", "detail": "model left out"}]
    assert document["change"] == 0.5 - 25.0
    assert document["description"] == "a reason"
    assert document["parents"] == [family.find("3").commit]
    assert "code" not in document


@pytest.mark.parametrize(
    ("text", "content"),
    [("code", "a = 1\nb = 22\nc = 33\n"), ("patch", "a patch"), ("prompt", "a prompt for generation 3, attempt 1")],
)
def test_texts_come_exactly(family, evolve, evolve_json, text, content):
    assert evolve("show", "family", "best", f"--{text}") == content
    assert evolve_json("show", "family", "best", f"--{text}")[text] == content


def test_what_a_model_thought_is_shown_when_it_is_on_record(lesson, evolve, evolve_json):
    thought = "Let me think.\nBoth are good."
    assert evolve("show", "lesson", "best", "--reasoning") == thought
    assert evolve_json("show", "lesson", "best", "--reasoning")["reasoning"] == thought
    assert "no reasoning on record" in evolve("show", "lesson", "1", "--reasoning", code=2)
    assert thought not in evolve("show", "lesson", "best", "--answer")


def test_a_program_tells_what_it_took_and_what_it_followed(lesson, evolve, evolve_json):
    text = evolve("show", "lesson", "3")
    assert "1,000 tokens in, 200 out, cost unknown (no price is given)" in text
    assert "recommendation 2 of the insights report after 2 programs: Take the best of both." in text
    document = evolve_json("show", "lesson", "3")
    assert (document["tokens"], document["cost_usd"], document["t"]) == (1200, None, lesson.times[3])
    assert (document["best_known"], document["gap_to_best_known"], document["self_judged"]) == (None, None, False)
    assert evolve_json("show", "lesson", "2")["cost_usd"] is None


def test_instance_by_instance_next_to_the_parent_and_the_best(lesson, evolve, evolve_json):
    text = evolve("show", "lesson", "1", "--instances")
    assert "Against the parent: 2 better, 0 same, 0 worse." in text
    assert "Against the best: 1 better, 1 same, 0 worse." in text
    rows = evolve_json("show", "lesson", "1", "--instances")["instances"]
    assert [(r["instance"], r["cost"], r["against_parent"], r["against_best"]) for r in rows] == [
        (0, "1/3", "better", "same"),
        (1, "1/4", "better", "better"),
    ]
    failing = evolve("show", "lesson", "4", "--instances")
    assert "invalid_output: model left out" in failing
    assert "Against the parent: 0 better, 1 same, 1 worse." in failing
    assert evolve_json("show", "lesson", "0", "--instances")["instances"][0]["against_parent"] is None


def test_what_is_no_program_has_no_instances_and_what_is_no_task_no_bounds(lesson, evolve):
    assert "did not become a program" in evolve("show", "lesson", "2", "--instances", code=2)
    assert "nosuch" in evolve("show", "lesson", "1", "--instances", "--task", "nosuch", code=2)
    assert "--instances" in evolve("show", "lesson", "1", "--task", "placement", code=2)


def test_two_texts_at_once_are_refused(family, evolve):
    with pytest.raises(SystemExit) as caught:
        evolve("show", "family", "best", "--code", "--patch")
    assert caught.value.code == 2


def test_a_generation_without_a_program_shows_how_it_ended(family, evolve, evolve_json):
    text = evolve("show", "family", "2")
    assert ": no program" in text
    assert "refused (no_match)" in text
    assert "Block 1 matches nothing." in text
    assert evolve_json("show", "family", "2")["status"] == "refused"
    assert evolve("show", "family", "2", "--answer") == "an answer"
    assert "did not become a program (refused)" in evolve("show", "family", "2", "--code", code=2)


def test_a_generation_under_way_is_not_called_a_failure(bring, recorded_runs, evolve):
    run = recorded_runs("busy")
    run.ask(1, [run.initial()])
    bring(run.archive.reader)
    text = evolve("show", "busy", "1")
    assert "Generation 1: not finished yet" in text
    assert "answered" in text


def test_the_initial_program_has_no_patch_and_no_prompt(family, evolve):
    assert "initial program" in evolve("show", "family", "0", "--patch", code=2)
    assert "no prompt on record" in evolve("show", "family", "0", "--prompt", code=2)


@pytest.mark.parametrize("name", ["99", "nonsense", "", "ffffffff", "9" * 5000])
def test_an_unknown_program_is_one_sentence(family, evolve, name):
    text = evolve("show", "family", name, code=2)
    assert text.startswith("evolve: ")
    assert text.count("\n") == 1


def test_hostile_texts_are_escaped_on_every_screen(hostile, evolve, on_terminal):
    text = evolve("show", "hostile", "1")
    assert "red\\x1b[31m" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text) < 100_000
    screen = on_terminal("show", "hostile", "1", "--code")
    assert "\x1b" not in screen
    assert "red\\x1b[31m\nSigned-off-by" in screen
    assert "\x1b[31m" not in on_terminal("show", "hostile", "1", NO_COLOR="1")


def test_a_hostile_source_reaches_a_pipe_byte_for_byte(hostile, capfdbinary):
    assert main(["show", "hostile", "1", "--code"]) == 0
    code = capfdbinary.readouterr().out
    assert code.startswith(b"'''red\x1b[31m\nSigned-off-by: nobody\r\xe2\x80\xae\xed\xa0\x80 x")
    assert code.endswith(b"'''\r\n")
