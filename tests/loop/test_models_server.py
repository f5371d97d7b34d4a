"""Whole runs against a real server: it misbehaves, the run is killed, and no answer is lost or paid twice."""

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evolve.archive.calls import calls_of
from evolve.archive.events import Status
from tests.loop.climbing import (
    KEY,
    ROOT,
    TASK,
    configure,
    count,
    evolve,
    finish,
    is_meta,
    meta_answer,
    model,
    opened,
    patch,
)
from tests.loop.stepping import endless, step, steps
from tests.openai_server import DROP, HANG, Behaviour, OpenAIServer, Step, answer, no_choices, raw, refusal, status

PAGE = Behaviour(body=b"<html><h1>502 Bad Gateway</h1></html>", headers={"Content-Type": "text/html"})

# What the server does before it gives the good answer of a generation; the statuses of the calls and attempts that
# this leads to; and words of the message that the model is sent.
MISBEHAVIOUR: list[tuple[list[Step], list[str], str | None]] = [
    ([status(429, retry_after="0")], ["rate_limited", "stop"], None),
    ([status(500, retry_after="0"), status(500, retry_after="0")], ["server_error", "server_error", "stop"], None),
    ([HANG], ["timeout", "stop"], None),
    ([DROP], ["connection", "stop"], None),
    ([raw(b'{"choices": [')], ["bad_response", "stop"], None),
    ([no_choices()], ["bad_response", "stop"], None),
    ([PAGE], ["bad_response", "stop"], None),
    ([answer("<NAME> x", finish_reason="length")], ["length", "stop"], "The answer was cut off after 10 tokens"),
    ([refusal("I cannot do that.")], ["refusal", "stop"], "The answer was a refusal."),
    ([answer("  ")], ["empty", "stop"], "The answer was empty."),
    ([answer("Let us think.")], ["stop", "stop"], "The answer holds no SEARCH/REPLACE block."),
    (
        [answer(patch(1).replace("# next\n=", "# nowhere\n="))],
        ["stop", "stop"],
        "Block 1 of 1: its SEARCH text is not in the evolvable part of the program.\nIts SEARCH begins: `# nowhere`",
    ),
    ([answer("x" * 5 * 1024 * 1024)], ["oversize", "stop"], "The answer was longer than 1048576 characters"),
]
GOOD_IN_OTHER_SHAPES = [
    patch(0.61, name="crlf").replace("\n", "\r\n"),
    "```diff\n" + patch(0.62, name="fenced") + "```\n",
    "Sure, here it is:\n\n" + patch(0.63, name="text_around") + "\nI hope that it helps.\n",
]
REASONS = {"length": "length", "refusal": "refusal", "empty": "empty", "oversize": "oversize"}


@pytest.fixture(scope="module")
def misbehaved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, OpenAIServer]:
    """The run `r` against a server that misbehaves in every way, and the server."""
    folder = tmp_path_factory.mktemp("misbehaved")
    behaviours: list[Step] = []
    for number, (bad, _, _) in enumerate(MISBEHAVIOUR, 1):
        behaviours += [*bad, step(number)]
    behaviours += [answer(text) for text in GOOD_IN_OTHER_SHAPES]
    with OpenAIServer(behaviours) as server:
        generations = len(MISBEHAVIOUR) + len(GOOD_IN_OTHER_SHAPES)
        config = configure(folder, models=[model(server.url, timeout_s=2.5)], generations=generations)
        finish(folder, "run", config, "--name", "r")
    return folder, server


def test_a_server_that_misbehaves_costs_no_generation(misbehaved: tuple[Path, OpenAIServer]) -> None:
    folder, _ = misbehaved
    with opened(folder) as archive:
        assert len(archive.programs) == 1 + len(MISBEHAVIOUR) + len(GOOD_IN_OTHER_SHAPES)
        assert all(record.correct for record in archive.programs)
        names = [record.origin.patch_name for record in archive.programs[-3:]]
        assert names == ["crlf", "fenced", "text_around"]


def test_every_call_is_on_record_with_its_status_tokens_and_cost(misbehaved: tuple[Path, OpenAIServer]) -> None:
    folder, server = misbehaved
    spent = 0.0
    with opened(folder) as archive:
        for generation, (_, wanted, _) in enumerate(MISBEHAVIOUR, 1):
            found = [
                call
                for attempt in archive.attempts(generation)
                for call in calls_of(attempt, archive.calls(attempt.key))
            ]
            assert [call.status for call in found] == wanted, generation
            assert (found[-1].usage.tokens_in, found[-1].usage.tokens_out, found[-1].usage.estimated) == (
                100,
                10,
                False,
            )
            assert found[-1].usage.cost_usd == pytest.approx(100 * 2e-6 + 10 * 8e-6)
            is_free = found[0].status in ("rate_limited", "server_error") or "<html>" in found[0].message
            assert (found[0].usage.cost_usd > 0) != is_free
            assert all(call.usage.latency_s > 0 for call in found)
            spent += sum(call.usage.cost_usd for call in found)
        spent += len(GOOD_IN_OTHER_SHAPES) * (100 * 2e-6 + 10 * 8e-6)
        assert archive.spent.known_usd == pytest.approx(spent)
    answered, failed = count(folder, "answered"), count(folder, "called", phase="failed")
    assert len(server.requests) == count(folder, "called", phase="calling") == answered + failed


def test_the_model_is_shown_precisely_what_was_wrong(misbehaved: tuple[Path, OpenAIServer]) -> None:
    folder, server = misbehaved
    sent = {request.json["messages"][0]["content"] for request in server.requests}
    with opened(folder) as archive:
        for generation, (_, wanted, output) in enumerate(MISBEHAVIOUR, 1):
            attempts = archive.attempts(generation)
            if output is None:
                assert [attempt.status for attempt in attempts] == [Status.EVALUATED]
                continue
            assert [attempt.status for attempt in attempts] == [Status.REFUSED, Status.EVALUATED]
            assert attempts[0].message is not None and attempts[0].message.startswith(output)
            assert attempts[0].reason == REASONS.get(wanted[0], attempts[0].reason)
            assert attempts[1].prompt is not None
            prompt = archive.text(attempts[1].prompt)
            assert prompt in sent
            assert "| " + attempts[0].message.replace("\n", "\n| ") in prompt
    assert {attempts[0].reason} == {"oversize"}


def test_show_lists_the_calls(misbehaved: tuple[Path, OpenAIServer]) -> None:
    folder, _ = misbehaved
    shown = evolve(folder, "show", "r", "2").stdout
    assert shown.count("server_error (HTTP 500) after ") == 2
    assert "call 3: stop after " in shown
    (attempt,) = json.loads(evolve(folder, "show", "r", "3", "--json").stdout)["attempts"]
    assert [call["status"] for call in attempt["calls"]] == ["timeout", "stop"]
    assert "answer within 2.5 s" in attempt["calls"][0]["message"]


# -- the key, the budget, no answer at all ---------------------------------------------------------------------------


def descendants(root: int) -> list[int]:
    """The processes below one, as far as they live long enough to be read."""
    found = [root]
    for process in found:
        with contextlib.suppress(OSError):  # it has ended
            for thread in Path(f"/proc/{process}/task").iterdir():
                with contextlib.suppress(OSError):
                    found += map(int, (thread / "children").read_text().split())
    return found[1:]


def test_the_key_is_nowhere(tmp_path: Path) -> None:
    """The server even repeats it, in an answer and in an error."""
    behaviours: list[Step] = [
        answer(f"Your key is {KEY}. " + patch(0.7, why=f"With {KEY}.")),
        answer(f"Your key is {KEY}."),
        status(500, retry_after="0", error=f"Incorrect API key provided: {KEY}"),
        step(3),
        status(401, error=f"Incorrect API key provided: {KEY}"),
    ]
    seen: set[tuple[str, str]] = set()
    with OpenAIServer(behaviours, default=endless(after_s=0.1)) as server:
        config = configure(tmp_path, models=[model(server.url)], generations=8, meta_every=4)
        process = subprocess.Popen(
            [sys.executable, "-m", "evolve", "run", config, "--name", "r"],
            cwd=tmp_path,
            env=os.environ | {"CLIMB_KEY": KEY, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        while process.poll() is None:
            for child in descendants(process.pid):
                place = Path(f"/proc/{child}")
                try:
                    before, environ, after = (
                        (place / name).read_text(errors="replace") for name in ("cmdline", "environ", "cmdline")
                    )
                except OSError:
                    continue
                if before == after:  # not in the middle of becoming another program
                    seen.add((before, environ))
            time.sleep(0.01)
            assert KEY.encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes()
        assert process.stdout is not None
        output = process.stdout.read()
        assert any(request.headers["authorization"] == f"Bearer {KEY}" for request in server.requests)
    evolve_says = [evolve(tmp_path, "show", "r", str(g), code=None) for g in (1, 2, 4)]
    output += "".join(ran.stdout + ran.stderr for ran in evolve_says).encode()
    output += evolve(tmp_path, "show", "r", "1", "--answer").stdout.encode()
    assert b"[key removed]" in output
    assert KEY.encode() not in output
    run = tmp_path / "runs" / "r"
    for path in run.rglob("*"):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), path
    objects = subprocess.run(
        ["git", "--git-dir", str(run / "programs.git"), "cat-file", "--batch-all-objects", "--batch"],
        capture_output=True,
        check=True,
    ).stdout
    assert b"[key removed]" in objects
    assert KEY.encode() not in objects
    assert any("zygote" in command for command, _ in seen)
    assert not any(KEY in command for command, _ in seen)
    # No process of a candidate had the key, nor had git at work. These have our environment: a fork that has not become
    # another program, the `env` that takes it from git, the `git version` by which GitPython finds git, and the `uname`
    # by which Python's own `platform` tells the client of models what machine this is.
    assert any("git\0cat-file" in command for command, _ in seen)
    ours = ("/usr/bin/env\0-i\0", "git\0version\0", "uname\0", f"{sys.executable}\0-m\0evolve\0")
    assert [command for command, environ in seen if KEY in environ and not command.startswith(ours)] == []


def test_a_key_alone_asks_nobody(tmp_path: Path) -> None:
    with OpenAIServer() as server:
        environment = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}
        words = ["--task", str(TASK), "--name", "r", "--generations", "2", "--set", "meta_every=2"]
        evolve(tmp_path, "run", *words, environment=environment)
        assert server.requests == []


@pytest.mark.parametrize("words", [["--model", "gpt-x"], ["--model", "gpt-x", "--budget-usd", "1"]])
def test_what_a_model_lacks_is_said_before_anything_is_written(tmp_path: Path, words: list[str]) -> None:
    budget = "--budget-usd" in words
    environment = {"OPENAI_API_KEY": KEY if budget else ""}
    ran = evolve(tmp_path, "run", *words, environment=environment, code=2 if budget else 3)
    assert ("price_in" if budget else "OPENAI_API_KEY") in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert KEY not in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_budget_is_kept_by_patches_retries_and_meta_calls_together(tmp_path: Path) -> None:
    """A patch costs 0.02 USD and a meta answer 0.01; the estimate of each is 0.04 at most."""
    replies = steps(1, tokens=(0, 2000))

    def behave(request: Any) -> Behaviour:
        prompt = request["messages"][0]["content"]
        return replies() if "# What to do now" in prompt else answer(meta_answer(prompt), tokens=(0, 1000))

    with OpenAIServer(default=behave) as server:
        priced = model(server.url, price_in=0.0, price_out=10.0)
        config = configure(tmp_path, models=[priced], generations=50, parallel=3, meta_every=5)
        finish(tmp_path, "run", config, "--name", "r", "--budget-usd", "0.3")
        with opened(tmp_path) as archive:
            assert 0.2 < archive.spent.known_usd <= 0.3 + 1e-9  # a sum of floats
            assert archive.finished == "budget"
            unsent = [archive.attempts(number)[-1].key for number in archive.open_generations]
            assert not any(map(archive.calls, unsent)), "a report's call may have taken what was left for a patch"
        patches = sum(not is_meta(request.json) for request in server.requests)
        assert archive.spent.known_usd == pytest.approx(0.02 * patches + 0.01 * (len(server.requests) - patches))
        assert patches < len(server.requests)


def test_the_budget_is_not_spent_on_repeating_what_timed_out(tmp_path: Path) -> None:
    with OpenAIServer(default=HANG) as server:
        priced = model(server.url, price_in=0.0, price_out=10.0, timeout_s=0.2)
        config = configure(tmp_path, models=[priced], generations=50)
        finish(tmp_path, "run", config, "--name", "r", "--budget-usd", "0.05", code=1)
        assert len(server.requests) == 2  # 0.02 USD each, should the server bill them
    with opened(tmp_path) as archive:
        assert archive.finished == "budget"
        assert archive.spent.known_usd == pytest.approx(0.04)
    assert "evolve doctor --endpoint" in (tmp_path / "out.txt").read_text()


def test_a_run_without_one_answer_says_so_and_keeps_what_it_has(tmp_path: Path) -> None:
    with OpenAIServer(default=status(401, error="who are you?")) as server:
        config = configure(tmp_path, models=[model(server.url)], generations=50)
        ran = evolve(tmp_path, "run", config, "--name", "r", code=1)
        assert len(server.requests) == 5
    assert "no model gave an answer" in ran.stderr
    assert "check the key in the environment variable CLIMB_KEY" in ran.stdout
    assert "evolve doctor --endpoint runs/r/run.yaml" in ran.stdout
    with opened(tmp_path) as archive:
        assert archive.finished == "unreachable"
        assert len(archive.programs) == 1
        assert [archive.statuses[g] for g in range(1, 6)] == [Status.ASKED] * 5, "left open, not failed for good"
    with OpenAIServer(default=answer(patch(0.5))) as repaired:
        resume = ["resume", "r", "--set", f"models.m.base_url={repaired.url}", "--generations", "5"]
        evolve(tmp_path, *resume)
        assert len(repaired.requests) >= 5
    with opened(tmp_path) as archive:
        assert not archive.unfinished()
        assert len(archive.programs) == 6 or archive.funnel.answered >= 5


@pytest.mark.parametrize("parallel", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_daily_limit_ends_the_run_for_resume_to_go_on_with(tmp_path: Path, parallel: int) -> None:
    more = steps(3)

    def after_the_refusal(_: Any) -> Behaviour:
        while '"http_status":429' not in (tmp_path / "runs" / "r" / "journal.jsonl").read_text():
            time.sleep(0.01)
        return more()

    limit = [step(1), step(2), status(429, retry_after="40000")]
    with OpenAIServer(limit, default=after_the_refusal) as server:
        config = configure(tmp_path, models=[model(server.url)], generations=50, parallel=parallel)
        finish(tmp_path, "run", config, "--name", "r")
        assert 3 <= len(server.requests) <= 2 + parallel
    with opened(tmp_path) as archive:
        assert archive.finished == "unreachable"
        assert len(archive.programs) >= 3
    with OpenAIServer(default=endless()) as lifted:
        finish(tmp_path, "resume", "r", "--set", f"models.m.base_url={lifted.url}", "--generations", "9")
    with opened(tmp_path) as archive:
        assert not archive.unfinished()
