"""With eight proposals in flight each prompt says what the others are about, and no two ask for the same."""

import itertools
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evolve.archive.reader import RunReader
from evolve.loop.generation import generation
from tests.loop.by_hand import begun
from tests.loop.climbing import TASK, configure, events, finish, is_meta, meta_answer, model, opened, patch, script
from tests.loop.rerun.calling import rerun
from tests.openai_server import Behaviour, OpenAIServer, answer

GENERATIONS = 26
LETTERS = str.maketrans("0123456789", "abcdefghij")
LINE = re.compile(r"^\| (\d+)(?: from (\d+))?, (\w+)(?:: (.*))?$", re.MULTILINE)


def behave_with(numbers: Iterator[int]) -> Any:
    """Proposals of all kinds of quality; each has words of its own, in its name, its reason and its code."""

    def behave(request: Any) -> Behaviour:
        if is_meta(request):
            return answer(meta_answer(request["messages"][0]["content"]))
        number = next(numbers)
        chance, word = random.Random(number), f"word{number}".translate(LETTERS)
        if number % 7 == 3:
            return answer("I would rather talk about it.", after_s=chance.random() / 20)
        line = "OFFSET = None" if number % 9 == 5 else f"OFFSET -= {chance.uniform(-3, 1) + number / 997}"
        text = patch(f"{line}  # {word}", name=word, why=f"It takes {word} steps. Then it ends.")
        return answer(text, after_s=chance.random() / 20)

    return behave


@pytest.fixture(scope="module", params=[8, pytest.param(1, marks=pytest.mark.slow)], ids=["eight in flight", "one"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(f"in_flight_{request.param}")
    kinds = {"diff": 0.6, "full": 0.2, "cross": 0.1, "fix": 0.1}
    with OpenAIServer(default=behave_with(itertools.count(1))) as server:
        config = configure(
            folder,
            models=[model(server.url, api_key_env=None)],
            generations=GENERATIONS,
            parallel=request.param,
            workers=2,
            meta_every=8,
            attempts=2,
            search={"elites": 8, "unguided": 0.3, "stagnation": 8, "kinds": kinds},
        )
        finish(folder, "run", config, "--name", "r")
    return folder


def asked(archive: RunReader, folder: Path) -> list[tuple[dict[str, Any], str]]:
    return [(event, archive.text(event["prompt"])) for event in events(folder) if event["event"] == "asked"]


def section(prompt: str, heading: str) -> list[tuple[str, ...]]:
    """The lines of a section: generation, parent (where it is another one), name or kind, and what is said."""
    _, found, rest = prompt.partition(f"\n# {heading}\n")
    return LINE.findall(re.split(r"\n#+ ", rest, maxsplit=1)[0]) if found else []


def wanted(prompt: str) -> str:
    """What a prompt asks for, without numbers and names, in no order; without what is in flight or was tried."""
    prompt = prompt.split("# The form of your answer", 1)[1]
    kept = [line for line in prompt.split("\n") if not LINE.match(line)]
    return "\n".join(sorted(re.sub(r"`\w*`|-?\d+(\.\d+)?(e-?\d+)?", "", line) for line in kept))


def test_no_two_proposals_are_asked_for_the_same(folder: Path) -> None:
    with opened(folder) as archive:
        first = [prompt for event, prompt in asked(archive, folder) if event["attempt"] == 0]
    assert len(first) == GENERATIONS
    assert len(set(map(wanted, first))) == GENERATIONS


@pytest.mark.parametrize("first", ["60", "None"], ids=["a change", "a repair"])
@pytest.mark.parametrize("seed", range(4))
def test_eight_questions_about_one_program_differ(tmp_path: Path, first: str, seed: int) -> None:
    """Nothing is known of any but the initial program, which fails in the second case."""
    task = tmp_path / "task"
    shutil.copytree(TASK, task)
    initial = (task / "initial.py").read_text(encoding="utf-8")
    (task / "initial.py").write_text(initial.replace("OFFSET = 60", f"OFFSET = {first}"), encoding="utf-8")
    kinds = {"diff": 1.0, "full": 0.0, "cross": 0.0, "fix": 0.5}
    config = configure(
        tmp_path, task=str(task), seed=seed, models=[script(tmp_path, [patch(1)] * 9)], search={"kinds": kinds}
    )
    with begun(tmp_path / "run", config) as run:
        for number in range(1, 9):
            next(generation(run.context, number))
        reader = run.archive.reader
        prompts = [reader.text(reader.attempts(number)[0].prompt or "") for number in range(1, 9)]
        assert {reader.generations[number].kind for number in range(1, 9)} == {"diff" if first == "60" else "fix"}
    assert [len(section(prompt, "Being worked on now")) for prompt in prompts] == list(range(8))
    assert len(set(map(wanted, prompts))) == 8


def test_what_is_in_flight_is_what_the_record_says_then_the_nearest_first(folder: Path) -> None:
    parents, names, open_now = dict[int, str](), dict[int, str](), list[int]()
    listed = described = 0
    with opened(folder) as archive:
        for event in events(folder):
            number = event.get("generation")
            if event["event"] == "asked":
                here = parents[number] = event["parents"][0]
                others = sorted((n for n in open_now if n < number), key=lambda n: (parents[n] != here, -n))
                lines = section(archive.text(event["prompt"]), "Being worked on now")
                assert [int(line[0]) for line in lines] == others[:8]
                for at, parent, name, text in lines:
                    other = archive.find(parents[int(at)])
                    assert parent == ("" if other.commit == here else str(other.generation))
                    if int(at) in names:
                        assert (name, text) == (names[int(at)], f"It takes {name} steps.")
                    else:
                        assert name == archive.generations[int(at)].kind
                        assert text == "" or re.match("follows|asked to", text)
                listed, described = listed + len(lines), described + sum(int(line[0]) in names for line in lines)
                open_now += [number] if number not in open_now else []
            elif event["event"] == "answered" and (name := re.search(r"<NAME> (\w+)", archive.text(event["answer"]))):
                names[number] = name[1]
            elif event["event"] == "evaluated" or (event["event"] == "refused" and event["final"]):
                open_now = [one for one in open_now if one != number]
    assert (listed > 80 and described > 5) or (listed, len(parents)) == (0, GENERATIONS)


def test_what_was_tried_is_of_the_whole_run_and_stands_on_record(folder: Path) -> None:
    output = set[int]()
    with opened(folder) as archive:
        for event, prompt in asked(archive, folder):
            lines = section(prompt, "What was already tried in this run")
            own = [int(number) for number, parent, *_ in lines if not parent]
            assert own == sorted(own, reverse=True)
            assert not any(parent for _, parent, *_ in lines[: len(own)])  # those of this parent come first
            assert len(lines) <= 12
            output |= {int(number) for number, *_ in lines}
            for number, parent, _, result in lines:
                program = archive.program(int(number))
                made_from = archive.find(parent or event["parents"][0])
                assert archive.generations[int(number)].parents == (made_from.commit,)
                if program is None or not program.correct:
                    assert result.startswith("refused (" if program is None else "not correct (exception): instance 0")
                elif made_from.correct:
                    change = program.combined_score - made_from.combined_score
                    words = f"{abs(change):.4f} {'better' if change > 0 else 'worse'}" if change else "the same"
                    same = re.fullmatch(r"same results as generation \d+", result)
                    assert (words == "the same") if same else (result.partition(" (")[0] == words)
    assert len(output) > 12


def test_a_question_that_is_put_again_suggests_the_same(folder: Path) -> None:
    suggested = dict[int, set[Any]]()
    again = 0
    for event in events(folder):
        if event["event"] == "asked":
            suggested.setdefault(event["generation"], set()).add(event.get("direction"))
            again += event["attempt"] > 0
    assert again
    assert all(len(directions) == 1 for directions in suggested.values())


def test_the_run_comes_again_from_its_record(folder: Path) -> None:
    assert rerun(folder, "r")["equal"]
