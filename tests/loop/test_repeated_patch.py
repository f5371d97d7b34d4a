"""A model that repeats itself: it learns of it each time, nothing is evaluated twice, and patience ends the run."""

from pathlib import Path

from evolve.archive.events import Status
from evolve.search.stopping import StopReason
from tests.loop.by_hand import through
from tests.loop.climbing import configure, count, events, opened, patch, script
from tests.loop.metas import a_meta


def prompts(folder: Path) -> dict[int, list[str]]:
    """Every prompt of the run, by generation."""
    with opened(folder) as archive:
        return {
            generation: [archive.text(attempt.prompt) for attempt in archive.attempts(generation) if attempt.prompt]
            for generation in archive.statuses
        }


def test_a_patch_that_is_repeated_is_evaluated_once_shown_each_time_and_ends_by_patience(tmp_path: Path) -> None:
    again = patch(-1, name="again")  # a step back: the parent stays the initial program
    config = configure(tmp_path, models=[script(tmp_path, [again] * 40)], generations=40, patience=6, attempts=2)
    assert through(tmp_path, config) is StopReason.PATIENCE
    assert count(tmp_path, "evaluated") == 2, "the initial program, and the patch once"
    with opened(tmp_path) as archive:
        assert [status for number, status in sorted(archive.statuses.items()) if number > 1] == [Status.DUPLICATE] * 5
        attempts = [archive.attempts(number) for number in range(2, 7)]
        objective, known = archive.find("1").objective.metric, archive.find("1").value
        worse = (archive.find("0").value or 0) - (known or 0)
    assert all(len(asked) == 2 for asked in attempts)
    for asked in attempts:
        output = f"same as that of generation 1 ({objective} = {known!r}), comments"
        assert all(output in (attempt.message or "") for attempt in asked)
    for number, texts in prompts(tmp_path).items():
        if number > 1:
            assert f"| 1, again: {worse:.4f} worse\n" in texts[0], "what became of it stands in each first question"
            assert "is the same as that of generation 1" in texts[1], "and why the answer was no use in the second"


def test_what_does_the_same_on_every_instance_is_shown_as_such(tmp_path: Path) -> None:
    answers = [patch(-1, name="back"), patch("OFFSET += 2 - 1", name="back_again"), patch(-2, name="farther")]
    config = configure(tmp_path, models=[script(tmp_path, answers)], generations=3)
    through(tmp_path, config)
    last = prompts(tmp_path)[3][0]
    output = [line for line in last.splitlines() if line.startswith(("| 1, ", "| 2, "))]
    assert [line.endswith("(same results as generation 1)") for line in output] == [True, False]


def test_lines_that_come_back_are_named_in_the_prompt_of_that_program(tmp_path: Path) -> None:
    def replacing(old: str, new: str, step: int) -> str:
        return (
            f"<NAME> step_{step} </NAME>\n<DESCRIPTION> d </DESCRIPTION>\n<DIFF>\n<<<<<<< SEARCH\n{old}\n=======\n"
            f"{new}\n>>>>>>> REPLACE\n<<<<<<< SEARCH\n# next\n=======\nOFFSET -= {step}\n# next\n>>>>>>> REPLACE\n"
            "</DIFF>\n"
        )

    first, second = "SPECIAL_CASE = 'first of all'", "SPECIAL_CASE = 'second thoughts'"
    answers = [
        patch(f"{first}\nOFFSET -= 1", name="add"),
        replacing(first, second, 1),
        replacing(second, first, 1),
        patch(1, name="on"),
    ]
    config = configure(tmp_path, models=[script(tmp_path, answers)], generations=4)
    through(tmp_path, config)
    asked = prompts(tmp_path)
    assert [texts[0].count("restored in") for number, texts in sorted(asked.items()) if number] == [0, 0, 0, 1]
    assert f"- removed in generation 2, restored in generation 3:\n| {first}\n" in asked[4][0]


def test_a_share_of_the_questions_is_put_without_what_the_run_has_learned_and_the_record_says_which(
    tmp_path: Path,
) -> None:
    models = [
        script(tmp_path, [patch(1 + n / 100, name=f"step_{n}") for n in range(1, 15)], [a_meta(n) for n in range(1, 8)])
    ]
    search = {"elites": 1, "unguided": 0.5, "kinds": {"diff": 1.0, "full": 0.0, "cross": 0.0, "fix": 0.0}}
    config = configure(tmp_path, models=models, generations=14, meta_every=2, search=search)
    through(tmp_path, config)
    asked = [event for event in events(tmp_path) if event["event"] == "asked"]
    first = next(event["generation"] for event in asked if "guidance" in event)
    output = {event["generation"]: event.get("unguided", False) for event in asked}
    assert {output[number] for number in range(first, 15)} == {True, False}
    for number, texts in prompts(tmp_path).items():
        if number >= first:
            assert ("# One recommendation" in texts[0]) is not output[number]
    with opened(tmp_path) as archive:
        assert {number: archive.generations[number].unguided for number in output} == output
