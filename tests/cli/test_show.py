import pytest

from evolve.cli.main import main


def test_the_overview_tells_origin_score_change_and_reason(family, evolve):
    text = evolve("show", "family", "1")
    assert text.startswith("Generation 1: wider_b\n")
    for words in (
        "22.000000 (ceiling 26.000000, gap 4.000000)",
        "+2.0000 against generation 0 (20.000000)",
        "diff, a_model",
        "More of b helps.",
        family.find("1").commit,
    ):
        assert words in text


def test_a_failing_program_shows_its_failing_instances(family, evolve):
    assert "invalid_output: instance 1 of 2: model left out" in evolve("show", "family", "4")


def test_a_quarantined_program_shows_the_reason(family, evolve):
    assert "instance 3 beats its bound" in evolve("show", "family", "5")


def test_a_second_attempt_is_told_with_the_first(family, evolve, evolve_json):
    text = evolve("show", "family", "best")
    assert "attempt 0: refused (no_patch)" in text
    assert "attempt 1: evaluated" in text
    attempts = evolve_json("show", "family", "best")["attempts"]
    assert [a["status"] for a in attempts] == ["refused", "evaluated"]
    assert attempts[0]["message"] == "There is no patch in this answer."
    assert attempts[0]["tokens_out"] == 20


def test_the_record_as_json_holds_the_whole_verdict(family, evolve_json):
    told = evolve_json("show", "family", "4")
    assert told["failures"] == [{"instance": 1, "outcome": "invalid_output", "detail": "model left out"}]
    assert told["change"] == 0.5 - 25.0
    assert told["description"] == "a reason"
    assert told["parents"] == [family.find("3").commit]
    assert "code" not in told


@pytest.mark.parametrize(
    ("text", "content"),
    [("code", "a = 1\nb = 22\nc = 33\n"), ("patch", "a patch"), ("prompt", "a prompt for generation 3, attempt 1")],
)
def test_texts_come_exactly(family, evolve, evolve_json, text, content):
    assert evolve("show", "family", "best", f"--{text}") == content
    assert evolve_json("show", "family", "best", f"--{text}")[text] == content


def test_two_texts_at_once_are_refused(family, evolve):
    with pytest.raises(SystemExit) as caught:
        evolve("show", "family", "best", "--code", "--patch")
    assert caught.value.code == 2


def test_a_generation_without_a_program_shows_how_it_ended(family, evolve, evolve_json):
    text = evolve("show", "family", "2")
    assert "no program came of it" in text
    assert "refused (no_match)" in text
    assert "Block 1 matches nothing." in text
    assert evolve_json("show", "family", "2")["status"] == "refused"
    assert evolve("show", "family", "2", "--answer") == "an answer"
    assert "did not become a program (refused)" in evolve("show", "family", "2", "--code", code=2)


def test_a_generation_under_way_is_not_called_a_failure(bring, recorded_runs, evolve):
    run = recorded_runs("busy")
    run.ask(1, [run.initial()])
    bring(run.archive)
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
