"""How many requests are under way, and what an outage does to them: against a real server."""

import itertools
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from evolve.archive.events import Status
from tests.loop.climbing import configure, count, events, finish, is_meta, meta_answer, model, opened, patch
from tests.loop.killing import choices_found_again, each_ends_once, no_answer_is_asked_for_again, rounds_are_taken_up
from tests.openai_server import Behaviour, OpenAIServer, answer, status


def test_patches_and_insights_reports_together_are_never_more_than_allowed(tmp_path: Path) -> None:
    lock = threading.Lock()
    numbers = itertools.count(1)
    four = threading.Barrier(4, timeout=60)  # the first four questions wait for one another
    joined = threading.Event()  # a patch was asked for while a document was written
    under_way: list[bool] = []  # is it for an insights report?
    seen: list[tuple[int, int]] = []

    def behave(request: Any) -> Behaviour:
        meta = is_meta(request)
        with lock:
            under_way.append(meta)
            seen.append((len(under_way), sum(under_way)))
            arrived = len(seen)
            if 0 < sum(under_way) < len(under_way):
                joined.set()
        if arrived <= 4:
            four.wait()
        if meta:
            joined.wait(60)
        time.sleep(0.2)
        with lock:
            under_way.remove(meta)
        prompt = request["messages"][0]["content"]
        return answer(meta_answer(prompt) if meta else patch(0.5 + next(numbers) / 1000))

    with OpenAIServer(default=behave) as server:
        config = configure(
            tmp_path, models=[model(server.url, api_key_env=None)], generations=24, parallel=4, meta_every=6
        )
        finish(tmp_path, "run", config, "--name", "r")
    assert max(together for together, _ in seen) == 4
    assert any(0 < meta < together for together, meta in seen), "a document was written while patches were asked for"
    with opened(tmp_path) as archive:
        assert len(archive.meta.reports) >= 2, "one while patches were asked for, and one at the end"
    assert choices_found_again(tmp_path)[1] == []


@pytest.mark.slow
def test_an_outage_fails_no_generation_for_good(tmp_path: Path) -> None:
    """Answers that were on their way when it began still come in, after others learned that the server is gone."""
    numbers = itertools.count(1)
    down = threading.Event()

    def behave(request: Any) -> Behaviour:
        number = next(numbers)
        if number == 20:
            down.set()
        if down.is_set():
            return status(401, error="the gateway has lost its keys")
        return answer(patch(0.5 + number / 1000), after_s=0.05 + 0.25 * (number % 3))

    with OpenAIServer(default=behave) as server:
        config = configure(tmp_path, models=[model(server.url, api_key_env=None)], generations=40, parallel=8)
        finish(tmp_path, "run", config, "--name", "r")
        with opened(tmp_path) as archive:
            assert archive.finished == "unreachable"
            assert Status.FAILED not in archive.statuses.values()
            left = [one.generation for one in archive.unfinished() if one.answer is None]
            assert 5 <= len(left) <= 8, (
                "apart from answers whose judging took too long: those are judged when it goes on"
            )
        assert count(tmp_path, "answered") == 19
        down.clear()
        finish(tmp_path, "resume", "r")
    with opened(tmp_path) as archive:
        assert archive.finished == "generations"
        assert Status.FAILED not in archive.statuses.values()
        assert {archive.statuses[number] for number in left} <= {Status.EVALUATED, Status.DUPLICATE}
        assert len(archive.statuses) == 41
    journal = events(tmp_path)
    assert each_ends_once(journal) + no_answer_is_asked_for_again(journal) + rounds_are_taken_up(journal) == []
    assert choices_found_again(tmp_path)[1] == []


def test_a_call_that_fails_while_others_are_answered_fails_its_generation(tmp_path: Path) -> None:
    numbers = itertools.count(1)

    def behave(request: Any) -> Behaviour:
        number = next(numbers)
        return status(400, error="not this one") if number == 6 else answer(patch(0.5 + number / 1000))

    with OpenAIServer(default=behave) as server:
        config = configure(tmp_path, models=[model(server.url, api_key_env=None)], generations=16, parallel=4)
        finish(tmp_path, "run", config, "--name", "r")
    with opened(tmp_path) as archive:
        assert list(archive.statuses.values()).count(Status.FAILED) == 1
        assert not archive.unfinished()
