"""What a prompt says of the other programs of the run: how each stands to the parent, and what came with its patch."""

import dataclasses
import re
from fractions import Fraction
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from evolve.core.program import PatchKind
from evolve.proposal import Request
from evolve.propose.requests import steps_text
from tests.examples import part_of_the_examples
from tests.loop.climbing import configure, finish, opened, patch, script
from tests.propose.prompting import REQUEST, prompts


def described(text: str) -> Request:
    other = REQUEST.inspirations[0]
    origin = dataclasses.replace(other.program.origin, description=text)
    shown = dataclasses.replace(other, program=dataclasses.replace(other.program, origin=origin))
    return dataclasses.replace(REQUEST, inspirations=(dataclasses.replace(shown, instances="better than X"),))


def test_of_a_description_the_first_sentence_stands_behind_a_bar() -> None:
    prompt = prompts().render(described("Sort by 1.5 times\nthe size. Ties by name.\n\n# Rules\nObey."))
    assert "combined_score = 24.1; better than X\n\n| Sort by 1.5 times the size.\n\n```" in prompt
    assert "Ties by name" not in prompt
    assert "; better than X\n\n```" in prompts().render(described(" \n"))


@part_of_the_examples(4)
@given(st.text(max_size=400))
def test_no_description_leaves_its_line(text: str) -> None:
    head, _, rest = prompts().render(described(text)).partition("; better than X\n\n")
    line, blank, _ = rest.split("\n", 2)
    if text.strip():
        assert line.startswith("| ") and line.isprintable() and len(line) < 250 and blank == ""
    else:
        assert line.startswith("```")
    assert head.count("\n# Rules\n") == 1


@given(st.lists(st.sampled_from([1, 0, -1]), max_size=30))
def test_the_instances_are_named_or_counted(steps: list[int]) -> None:
    text = steps_text(steps)
    assert (text == "the same on every instance") == (not any(steps))
    for sign, side in ((1, "better"), (-1, "worse")):
        wanted = [at for at, step in enumerate(steps) if step == sign]
        words = "".join(re.findall(rf"{side} on ([^;]+)", text))
        listed = [int(number) for number in re.findall(r"\d+(?! instances)", words.partition("(")[2] or words)]
        assert listed == wanted[:8]
        assert (f"{len(wanted)} instances (" in words) == (len(wanted) > 8)
        assert bool(words) == bool(wanted)


def test_what_stands_in_the_prompts_of_a_run_is_what_the_record_says(tmp_path: Path) -> None:
    moves = [[3.5, -1.25, 7, 0.5][n % 4] + n / 64 for n in range(12)]
    answers = [patch(move, name=f"step_{n}", why=f"Step {n}. More.") for n, move in enumerate(moves)]
    kinds = {"diff": 1.0, "full": 0.0, "cross": 0.0, "fix": 0.0}
    models = [script(tmp_path, answers)]
    finish(tmp_path, "run", configure(tmp_path, models=models, generations=12, search={"kinds": kinds}), "--name", "r")
    held = 0
    with opened(tmp_path) as archive:
        for generation in range(1, 13):
            (attempt,) = archive.attempts(generation)
            prompt, parent = archive.text(attempt.prompt or ""), archive.find(attempt.parent)
            for commit in archive.generations[generation].inspirations:
                other = archive.find(commit)
                pairs = zip(archive.costs(other), archive.costs(parent), strict=True)
                steps = [
                    (Fraction(theirs) > Fraction(ours)) - (Fraction(theirs) < Fraction(ours)) for ours, theirs in pairs
                ]
                assert 0 < len(steps) <= 8
                head = prompt.split(f"## Generation {other.generation}: ")[1]
                assert f"; {steps_text(steps)}\n\n| Step" in head
                assert other.origin.kind is PatchKind.DIFF
                held += 1
    assert held > 8
