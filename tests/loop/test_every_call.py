"""A model that answers as people saw one do, slips included: where the calls of a run of 40 proposals go."""

import itertools
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evolve.archive.records import EVALUATED_REASONS
from tests.loop.climbing import configure, events, finish, meta_answer, model, opened, patch
from tests.openai_server import Behaviour, OpenAIServer, answer

PROPOSALS = 40
FALSE = "Forty passes gained 63 slots"
PROSE = (
    "Steps towards the number help, as [gen 1] shows, and a step away from it never does. "
    f"{FALSE} in one of the programs. Programs that name a variable nobody defined are refused.\n\n"
    "1. **A longer step**: go further at once.\n2. **A shorter step**: go on with care.\n"
)


class Erring:
    """Proposals, of which some do not fit, fail, lose or come twice; reports with headings, or in plain prose."""

    def __init__(self, *, prose: bool) -> None:
        self._prose, self._numbers, self._lock = prose, itertools.count(1), threading.Lock()

    def __call__(self, request: Any) -> Behaviour:
        prompt = request["messages"][0]["content"]
        if "# What to do now" not in prompt:
            told = PROSE if self._prose else meta_answer(prompt).replace("- a point", f"- **A point**: {FALSE}.")
            return answer(told, tokens=(900, 200), after_s=0.1)
        with self._lock:
            number = next(self._numbers)
        mends = "could not be used" in prompt
        return answer(patch(0.7 + number / 997) if mends else self._slip(number), after_s=0.05)

    def _slip(self, number: int) -> str:
        match number % 20:
            case 5:
                return patch(1).replace("# next\n=", "# nowhere\n=")
            case 9:
                return patch("OFFSET -= stepp", name="a_name_nobody_defined")
            case 12:
                return patch("OFFSET = None", name="no_offset")
            case 15 | 16:
                return patch(2.5, name="the_same_again")
            case 18:
                return patch("OFFSET = 'far'", name="a_word")
            case _:
                return patch((-1 if number % 7 == 3 else 0.5) + number / 997, name=f"step_{number}")


def wanted(event: dict[str, Any]) -> tuple[Any, ...]:
    """What a question asks for: no number, name or order tells two of them apart."""
    guidance = event.get("guidance") or {}
    advice = (guidance["document"], guidance["recommendation"]) if "recommendation" in guidance else None
    return event["kind"], *event["parents"], frozenset(event["inspirations"]), advice, event.get("direction")


@pytest.mark.parametrize("prose", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["headings", "prose"])
def test_where_the_calls_of_forty_proposals_go(tmp_path: Path, prose: bool) -> None:
    erring = Erring(prose=prose)
    with OpenAIServer(default=erring) as server:
        config = configure(
            tmp_path,
            models=[model(server.url, api_key_env=None)],
            generations=PROPOSALS,
            parallel=4,
            workers=2,
            meta_every=10,
            attempts=3,
            search={"elites": 12, "unguided": 0.1},
        )
        finish(tmp_path, "run", config, "--name", "r")
        calls = len(server.requests)
    journal = events(tmp_path)
    answered = Counter(event["event"] for event in journal)
    assert calls == answered["answered"] + answered["meta_answered"]
    assert answered["meta_answered"] <= 0.2 * calls

    asked = [event for event in journal if event["event"] == "asked" and not event["attempt"]]
    assert len(set(map(wanted, asked))) == len(asked) == PROPOSALS

    with opened(tmp_path) as archive:
        reports = archive.meta.reports
        assert len(reports) >= 2
        assert not any("63 slots" in path.read_text() for path in (tmp_path / "runs" / "r" / "meta").glob("*.md"))
        last = reports[max(reports)]
        assert last.recommendations
        for generation, status in archive.statuses.items():
            attempts = archive.attempts(generation) if generation else ()
            went_back = [attempt for attempt in attempts if attempt.reason in EVALUATED_REASONS]
            assert len(went_back) <= 1
            program = archive.program(generation)
            if program is not None and not program.correct and len(attempts) < 3:
                assert went_back, f"{generation} failed ({status}), and nobody was told"
