"""A prompt that does not fit: less is asked, then nothing but the block is shown, then it is refused on record."""

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

import evolve
from evolve.archive.events import Status
from evolve.core.completion import estimate_tokens
from evolve.search.stopping import StopReason
from tests.loop.by_hand import through
from tests.loop.climbing import TASK, configure, events, opened, patch, script
from tests.loop.killing import choices_found_again

LIMIT = 1600
OUTSIDE = "Nothing of this may change. " * 40
"""About 300 tokens before the evolvable part; each answer adds about 100 to the part itself."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("long")
    task = shutil.copytree(TASK, folder / "climb")
    initial = task / "initial.py"
    initial.write_text(initial.read_text().replace("programs, far", "").replace('"""\n', f'\n{OUTSIDE}\n"""\n', 1))
    comment = "".join(f"\n# {part} of {{n}}: " + "so " * 40 for part in "ab")  # two lines more: no near-copy of another
    answers: list[Any] = [patch(f"OFFSET -= {1 + n / 100}{comment.format(n=n)}", name=f"step_{n}") for n in range(36)]
    answers[3] = ["Let us talk.", answers[3]]
    kinds = {"diff": 0.5, "full": 0.0, "cross": 0.5, "fix": 0.0}
    config = configure(
        folder,
        task=str(task),
        models=[script(folder, answers)],
        generations=36,
        prompt_tokens=LIMIT,
        search={"elites": 6, "inspirations": 1, "stagnation": 0, "by_instance": 0.0, "kinds": kinds},
    )
    assert through(folder, config) is StopReason.GENERATIONS
    return folder


def questions(folder: Path) -> list[tuple[dict[str, Any], str | None]]:
    """Each question, with its prompt."""
    with opened(folder) as archive:
        return [
            (event, None if event["prompt"] is None else archive.text(event["prompt"]))
            for event in events(folder)
            if event["event"] == "asked"
        ]


def test_the_run_goes_on_to_its_limit(ran: Path) -> None:
    with opened(ran) as archive:
        assert archive.ended == 37
        assert archive.best is not None and archive.best.generation >= 8
        assert not archive.unfinished()


def test_no_prompt_is_too_long(ran: Path) -> None:
    prompts = [prompt for _, prompt in questions(ran) if prompt is not None]
    assert prompts
    assert max(map(estimate_tokens, prompts)) <= LIMIT


def test_a_crossover_becomes_a_change_then_the_block_alone_is_shown_then_it_is_refused(ran: Path) -> None:
    """In this order, since programs grow and never shrink."""
    stages = []
    for event, prompt in questions(ran):
        if prompt is None:
            stages.append("refused")
        elif OUTSIDE not in prompt:
            stages.append("block")
            assert event["shortened"]
        elif event.get("shortened"):
            stages.append("a change")
        else:
            stages.append(event["kind"])
        if event.get("shortened"):
            assert (event["kind"], event["inspirations"]) == ("diff", [])
    assert {"cross", "a change", "diff", "block", "refused"} == set(stages)
    assert stages.index("cross") < stages.index("a change") < stages.index("block") < stages.index("refused")


def test_what_cannot_be_asked_is_refused_on_record(ran: Path) -> None:
    with opened(ran) as archive:
        refused = [n for n, status in archive.statuses.items() if status is Status.REFUSED]
        assert refused
        for number in refused:
            (attempt,) = archive.attempts(number)
            assert (attempt.reason, attempt.prompt, attempt.answer) == ("prompt_too_long", None, None)
            assert f"prompt_tokens allows {LIMIT}; raise it" in (attempt.message or "")


def test_the_choices_are_found_again(ran: Path) -> None:
    checked, wrong = choices_found_again(ran)
    assert wrong == []
    assert checked < 24, "those that were shortened are not what was chosen"


class _Interrupts:
    """A listener that ends the run as soon as it has a turn while nothing happens."""

    def __init__(self) -> None:
        self.interrupt = threading.Event()

    def tell(self, event: Any, progress: evolve.Progress) -> None:
        pass

    def tick(self, progress: evolve.Progress) -> None:
        self.interrupt.set()


def test_where_no_prompt_ever_fits_a_listener_still_has_its_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    task = shutil.copytree(TASK, tmp_path / "climb")
    initial = task / "initial.py"
    initial.write_text(initial.read_text().replace("# next\n", "# " + "so " * 4000 + "\n# next\n", 1))
    listener = _Interrupts()
    run = evolve.run(
        task=str(task),
        models=[script(tmp_path, [patch("OFFSET -= 1")])],
        generations=300,
        prompt_tokens=1000,
        name="r",
        listener=listener,
        interrupt=listener.interrupt,
    )
    assert len(run.programs) == 1
    assert run.finished == "interrupted"
    assert len(run.generations) < 300
