"""What every proposer promises, for each that there is."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evaluator.task_files import load_task
from evolve.core.completion import CallEvent, CallFailed, Completion
from evolve.core.config import ModelConfig
from evolve.core.program import PatchKind
from evolve.patch import parse_patch
from evolve.proposal import Request
from evolve.propose.building import build_program
from evolve.propose.llm_proposer import LLMProposer
from evolve.propose.offline.proposer import OfflineProposer
from evolve.propose.prompts import Prompts
from evolve.propose.scripted import ScriptedLLM
from evolve.seams import Proposer
from evolve.search.evolution import Evolution
from tests.loop.by_hand import begun
from tests.loop.climbing import TASK, configure, patch
from tests.seams.plugins import loaded

FULL = "<NAME> whole </NAME>\n<DESCRIPTION> Whole. </DESCRIPTION>\n<CODE>\n```python\n{}\n```\n</CODE>\n"
CODE = "OFFSET = 7\n# next\n\n\ndef guess(n):\n    return n + OFFSET"


@pytest.fixture(params=["offline", "scripted", "ten lines of somebody else's"])
def proposer(request: pytest.FixtureRequest, tmp_path: Path) -> Proposer:
    task = load_task(str(TASK))
    if request.param == "offline":
        return OfflineProposer(task.ingredients, entry_point=task.entry_point)
    prompts = Prompts(task=task, suite=task.suite(), folder=None, max_tokens=32_000)
    if request.param == "scripted":
        (tmp_path / "script.yaml").write_text(
            f"answers: [{patch(1)!r}, {FULL.format(CODE)!r}, {{error: timeout}}]".replace("'", '"'), encoding="utf-8"
        )
        return LLMProposer(ScriptedLLM(tmp_path / "script.yaml"), prompts)
    settings = ModelConfig(name="echo", model="x", api_key_env=None)
    return LLMProposer(loaded(tmp_path, "my_llm").Echo(settings), prompts)


@pytest.fixture
def requests(tmp_path: Path, proposer: Proposer) -> Iterator["Requests"]:
    """What a run would ask."""
    with begun(tmp_path / "runs" / "r", configure(tmp_path)) as run:

        def make(generation: int, kind: PatchKind = PatchKind.DIFF, attempt: int = 0) -> Request:
            assert isinstance(run.search, Evolution)
            choice = run.search.choose(generation)
            request = run.context.requests.make(generation, attempt, choice, [], None)
            inspirations = (request.parent,) if kind is PatchKind.CROSS else ()
            return Request(
                seed=0,
                generation=generation,
                attempt=attempt,
                kind=kind,
                parent=request.parent,
                inspirations=inspirations,
            )

        yield make


class Requests:
    """A request of a run: for a generation, of a kind, in an attempt."""

    def __call__(self, generation: int, kind: PatchKind = PatchKind.DIFF, attempt: int = 0) -> Request: ...


def answered(proposer: Proposer, request: Request, events: list[CallEvent] | None = None) -> Completion:
    observe = (lambda _: None) if events is None else events.append
    return proposer.answer(request, proposer.prompt(request), observe)


def test_it_has_a_name_and_kinds_that_it_can_be_asked_for(proposer: Proposer) -> None:
    assert proposer.name
    assert PatchKind.DIFF in proposer.kinds
    assert PatchKind.INITIAL not in proposer.kinds


def test_a_prompt_is_a_function_of_the_request(proposer: Proposer, requests: Requests) -> None:
    for kind in proposer.kinds:
        request = requests(1, kind)
        prompt = proposer.prompt(request)
        assert proposer.prompt(request) == prompt
        assert prompt is None or request.parent.program.files.only in prompt.replace("\n| ", "\n")
        assert proposer.estimate_usd(prompt) >= 0


def test_an_answer_becomes_a_program(proposer: Proposer, requests: Requests) -> None:
    request = requests(1)
    answer = answered(proposer, request)
    assert parse_patch(answer.text, PatchKind.DIFF).name
    parent = request.parent.program.files
    known: dict[str, Any] = {"known": lambda _: None, "task": load_task(str(TASK))}
    program = build_program(answer, kind=PatchKind.DIFF, parent=parent, parent_works=True, **known)
    assert program.files != parent


def test_one_request_has_one_answer_from_any_thread(proposer: Proposer, requests: Requests) -> None:
    wanted = [answered(proposer, requests(1, attempt=attempt)).text for attempt in range(3)]
    with ThreadPoolExecutor(3) as pool:
        again = list(pool.map(lambda attempt: answered(proposer, requests(1, attempt=attempt)).text, range(3)))
    assert again == wanted


def test_every_call_that_an_answer_costs_is_announced_before_it_is_made(proposer: Proposer, requests: Requests) -> None:
    events: list[CallEvent] = []
    answer = answered(proposer, requests(1), events)
    assert [event.phase for event in events] in ([], ["calling", "answered"])
    assert sum(event.usage.cost_usd for event in events if event.phase == "answered") == answer.usage.cost_usd
    assert events or not answer.usage, "what nobody was called for costs nothing"
    assert bool(events) == (proposer.prompt(requests(1)) is not None)


def test_what_the_observer_refuses_is_not_asked(proposer: Proposer, requests: Requests) -> None:
    def refuse(_: CallEvent) -> None:
        raise CallFailed("budget", "no more")

    request = requests(1)
    prompt = proposer.prompt(request)
    if prompt is None:
        assert proposer.answer(request, None, refuse).text
        return
    with pytest.raises(CallFailed, match="no more"):
        proposer.answer(request, prompt, refuse)


def test_without_an_answer_it_says_why(tmp_path: Path, requests: Requests, proposer: Proposer) -> None:
    if proposer.name != "scripted":
        return
    with pytest.raises(CallFailed) as failed:
        answered(proposer, requests(3))
    assert failed.value.reason == "timeout"
