"""Whole runs against a real server that are killed or interrupted: no answer is lost or paid twice."""

import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from evolve.archive.calls import calls_of
from evolve.archive.events import Status
from tests.loop.climbing import (
    configure,
    count,
    events,
    finish,
    in_fork,
    is_meta,
    kill,
    meta_answer,
    model,
    opened,
    patch,
    wait_until,
)
from tests.loop.stepping import endless, step, steps
from tests.openai_server import HANG, Behaviour, OpenAIServer, answer, status

# 0.2 s of CPU, so that a test can see the answer recorded and the program not.
SLOW = "OFFSET -= 0.0001 + 0 * sum(i % 3 for i in range(3_000_000))"


# -- killed ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kills", [1, pytest.param(5, marks=pytest.mark.nightly)])
def test_an_answer_that_is_written_down_is_never_paid_again(tmp_path: Path, kills: int) -> None:
    def behave(request: Any) -> Behaviour:
        return answer(patch(f"{SLOW}  + {len(server.requests)}e-9", name=f"n_{len(server.requests)}"))

    with OpenAIServer(default=behave) as server:
        config = configure(tmp_path, models=[model(server.url)], generations=kills + 1)
        process = in_fork(tmp_path, "run", config, "--name", "r")
        for place in range(1, kills + 1):
            wait_until(lambda place=place: count(tmp_path, "answered", generation=place) == 1, process)  # type: ignore[misc]
            kill(process)
            assert count(tmp_path, "evaluated") == place  # the initial program and those before it
            process = in_fork(tmp_path, "resume", "r")
        process.join(60)
        assert process.exitcode == 0, (tmp_path / "out.txt").read_text()
        assert len(server.requests) == kills + 1
    assert count(tmp_path, "answered") == kills + 1
    assert count(tmp_path, "evaluated") == kills + 2
    assert count(tmp_path, "resumed") == kills
    assert count(tmp_path, "lost") == 0
    with opened(tmp_path) as archive:
        assert [record.origin.patch_name for record in archive.programs[1:]] == [f"n_{n}" for n in range(1, kills + 2)]


@pytest.mark.parametrize(
    ("most", "killed_at"), [(16, (12,)), pytest.param(30, (3, 12, 20, 31), marks=pytest.mark.slow)]
)
def test_requests_are_answered_or_failed_or_lost_and_counted_so(
    tmp_path: Path, most: int, killed_at: tuple[int, ...]
) -> None:
    """Killed at any moment, four in flight: what the server counts is what the record lists."""
    replies = steps(1, after_s=0.05)

    def behave(request: Any) -> Behaviour:
        if "program" not in request["messages"][0]["content"]:
            return status(400)
        return status(503, retry_after="0") if len(server.requests) % 5 == 0 else replies()

    with OpenAIServer(default=behave) as server:
        config = configure(tmp_path, models=[model(server.url)], generations=most, parallel=4)
        process = in_fork(tmp_path, "run", config, "--name", "r")
        for calls in killed_at:
            wait_until(lambda calls=calls: count(tmp_path, "called", phase="calling") >= calls, process)  # type: ignore[misc]
            kill(process)
            process = in_fork(tmp_path, "resume", "r")
        process.join(60)
        assert process.exitcode == 0, (tmp_path / "out.txt").read_text()
        requests = len(server.requests)
    listed: Counter[str] = Counter()
    with opened(tmp_path) as archive:
        for generation in range(1, most + 1):
            for attempt in archive.attempts(generation):
                calls = calls_of(attempt, archive.calls(attempt.key))
                listed.update(call.status for call in calls)
        assert set(archive.statuses.values()) <= {Status.EVALUATED, Status.REFUSED, Status.DUPLICATE}
        assert archive.accounts.committed().known_usd == 0
    assert set(listed) == {"stop", "server_error", "lost"}
    assert listed["stop"] == count(tmp_path, "answered")
    assert listed["server_error"] == count(tmp_path, "called", phase="failed")
    # A request is announced before it is sent: one that the kill came between was never sent.
    assert requests <= listed.total() <= requests + listed["lost"]


@pytest.mark.parametrize("killed_at", [(1,), pytest.param((1, 2, 3), marks=pytest.mark.slow)])
def test_a_meta_round_that_is_cut_off_goes_on_where_it_was(tmp_path: Path, killed_at: tuple[int, ...]) -> None:
    replies = steps(1)

    def behave(request: Any) -> Behaviour:
        prompt = request["messages"][0]["content"]
        return replies() if "# What to do now" in prompt else answer(meta_answer(prompt), after_s=0.02)

    with OpenAIServer(default=behave) as server:
        config = configure(tmp_path, models=[model(server.url)], generations=8, meta_every=4)
        process = in_fork(tmp_path, "run", config, "--name", "r")
        for answers in killed_at:
            wait_until(lambda answers=answers: count(tmp_path, "meta_answered") >= answers, process)  # type: ignore[misc]
            kill(process)
            process = in_fork(tmp_path, "resume", "r")
        process.join(60)
        assert process.exitcode == 0, (tmp_path / "out.txt").read_text()
        asked = Counter(r.json["messages"][0]["content"] for r in server.requests if is_meta(r.json))
    with opened(tmp_path) as archive:
        assert list(archive.meta.reports) == [4, 8]
    keys = Counter(event["key"] for event in events(tmp_path) if event["event"] == "meta_answered")
    assert len(keys) == 4 and set(keys.values()) == {1}
    # Each kill may have cut one request off, which is asked again; no other is.
    assert len(asked) == 4
    assert sum(asked.values()) <= 4 + len(killed_at)


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


def test_ctrl_c_waits_for_the_answers_under_way_and_resume_asks_none_again(tmp_path: Path) -> None:
    with OpenAIServer(default=endless(after_s=0.5)) as server:
        config = configure(tmp_path, models=[model(server.url)], generations=12, parallel=4)
        process = in_fork(tmp_path, "run", config, "--name", "r")
        wait_until(lambda: len(server.requests) >= 6, process)
        os.kill(process.pid, signal.SIGINT)
        process.join(60)
        assert process.exitcode == 130
        assert count(tmp_path, "answered") == len(server.requests) < 12
        assert events(tmp_path)[-1]["reason"] == "interrupted"
        finish(tmp_path, "resume", "r")
        assert len(server.requests) == count(tmp_path, "answered") == 12
    assert count(tmp_path, "lost") == 0
    assert "stopping: waiting for " in (tmp_path / "out.txt").read_text()


def test_a_second_ctrl_c_leaves_a_server_that_hangs(tmp_path: Path) -> None:
    with OpenAIServer([HANG, HANG], default=endless()) as server:
        config = configure(tmp_path, models=[model(server.url, timeout_s=300.0)], generations=3, parallel=2)
        process = in_fork(tmp_path, "run", config, "--name", "r")
        wait_until(lambda: len(server.requests) >= 2, process)
        os.kill(process.pid, signal.SIGINT)
        wait_until(lambda: "Ctrl-C quits now" in (tmp_path / "out.txt").read_text(), process)
        os.kill(process.pid, signal.SIGINT)
        process.join(20)
        assert process.exitcode == 130
        finish(tmp_path, "resume", "r")
        assert len(server.requests) == 5
    assert count(tmp_path, "lost") == 2
    assert "Traceback" not in (tmp_path / "out.txt").read_text()


def test_ctrl_c_waits_for_no_turn_at_an_endpoint(tmp_path: Path) -> None:
    with OpenAIServer(default=status(429, retry_after="100")) as server:
        config = configure(tmp_path, models=[model(server.url)], generations=3, parallel=2)
        process = in_fork(tmp_path, "run", config, "--name", "r")
        wait_until(lambda: count(tmp_path, "called", phase="failed") >= 2, process)
        time.sleep(0.2)  # until both wait
        os.kill(process.pid, signal.SIGINT)
        process.join(30)
        assert process.exitcode == 130


def test_after_ctrl_c_no_failed_call_is_repeated_and_no_meta_call_made(tmp_path: Path) -> None:
    def behave(request: Any) -> Behaviour:
        prompt = request["messages"][0]["content"]
        if "# What to do now" in prompt:
            return step(len(server.requests))
        os.kill(process.pid, signal.SIGINT)
        return Behaviour(body=status(500).body, status=500, headers={"Retry-After": "1"}, after_s=0.3)

    with OpenAIServer(default=behave) as server:
        config = configure(tmp_path, models=[model(server.url)], generations=6, meta_every=3)
        process = in_fork(tmp_path, "run", config, "--name", "r")
        process.join(60)
        assert process.exitcode == 130
        assert sum(is_meta(request.json) for request in server.requests) == 1
    assert count(tmp_path, "summarised") == 0  # the round is not over: the next session begins it again
