"""Whole runs against a real server: it misbehaves, the run is killed, and no answer is lost or paid twice."""

import itertools
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from climbing import (
    KEY,
    ROOT,
    configure,
    count,
    events,
    evolve,
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

from evolve.archive.calls import calls_of
from evolve.archive.records import Status
from evolve.completion import patch_key
from tests.openai_server import (
    DROP,
    HANG,
    Behaviour,
    OpenAIServer,
    Received,
    Step,
    answer,
    no_choices,
    raw,
    refusal,
    status,
)

# 0.2 s of CPU, so that a test can see the answer recorded and the program not.
SLOW = "OFFSET -= 0.0001 + 0 * sum(i % 3 for i in range(3_000_000))"


def step(number: int, **fields: Any) -> Behaviour:
    """A good answer, another one for each number."""
    return answer(patch(0.5 + number / 1000, name=f"step_{number}"), **fields)


def steps(first: int = 1, **fields: Any) -> Callable[[], Behaviour]:
    """Good answers without end, from any thread."""
    numbers = itertools.count(first)
    return lambda: step(next(numbers), **fields)


def endless(**fields: Any) -> Step:
    """Every request gets a good answer of its own."""
    more = steps(500, **fields)
    return lambda _: more()


# What the server does before it gives the good answer of a generation; the statuses of the calls and attempts that
# this leads to; and words of the message that the model is sent.
MISBEHAVIOUR: list[tuple[list[Step], list[str], str | None]] = [
    ([status(429, retry_after="0")], ["rate_limited", "stop"], None),
    ([status(500, retry_after="0"), status(500, retry_after="0")], ["server_error", "server_error", "stop"], None),
    ([HANG], ["timeout", "stop"], None),
    ([DROP], ["connection", "stop"], None),
    ([raw(b'{"choices": [')], ["bad_response", "stop"], None),
    ([no_choices()], ["bad_response", "stop"], None),
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
                for call in calls_of(attempt, archive.calls(patch_key(generation, attempt.attempt)))
            ]
            assert [call.status for call in found] == wanted, generation
            assert (found[-1].usage.tokens_in, found[-1].usage.tokens_out, found[-1].usage.estimated) == (
                100,
                10,
                False,
            )
            assert found[-1].usage.cost_usd == pytest.approx(100 * 2e-6 + 10 * 8e-6)
            assert (found[0].usage.cost_usd > 0) == (found[0].status not in ("rate_limited", "server_error"))
            assert all(call.usage.latency_s > 0 for call in found)
            spent += sum(call.usage.cost_usd for call in found)
        spent += len(GOOD_IN_OTHER_SHAPES) * (100 * 2e-6 + 10 * 8e-6)
        assert archive.spent_usd == pytest.approx(spent)
    answered, failed = count(folder, "answered"), count(folder, "called", phase="failed")
    assert len(server.requests) == count(folder, "called", phase="calling") == answered + failed


def test_the_model_is_told_precisely_what_was_wrong(misbehaved: tuple[Path, OpenAIServer]) -> None:
    folder, server = misbehaved
    sent = {request.json["messages"][0]["content"] for request in server.requests}
    with opened(folder) as archive:
        for generation, (_, wanted, told) in enumerate(MISBEHAVIOUR, 1):
            attempts = archive.attempts(generation)
            if told is None:
                assert [attempt.status for attempt in attempts] == [Status.EVALUATED]
                continue
            assert [attempt.status for attempt in attempts] == [Status.REFUSED, Status.EVALUATED]
            assert attempts[0].message is not None and attempts[0].message.startswith(told)
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
    assert "no whole answer within 2.5 s" in attempt["calls"][0]["message"]


# -- killed ------------------------------------------------------------------------------------------------------------


def test_an_answer_that_is_written_down_is_never_paid_again(tmp_path: Path) -> None:
    def behave(request: Any) -> Behaviour:
        return answer(patch(f"{SLOW}  + {len(server.requests)}e-9", name=f"n_{len(server.requests)}"))

    with OpenAIServer(default=behave) as server:
        config = configure(tmp_path, models=[model(server.url)], generations=11)
        process = in_fork(tmp_path, "run", config, "--name", "r")
        for place in range(1, 11):
            wait_until(lambda place=place: count(tmp_path, "answered", generation=place) == 1, process)  # type: ignore[misc]
            kill(process)
            assert count(tmp_path, "evaluated") == place  # the initial program and those before it
            process = in_fork(tmp_path, "resume", "r")
        process.join(60)
        assert process.exitcode == 0, (tmp_path / "out.txt").read_text()
        assert len(server.requests) == 11
    assert count(tmp_path, "answered") == 11
    assert count(tmp_path, "evaluated") == 12
    assert count(tmp_path, "resumed") == 10
    assert count(tmp_path, "lost") == 0
    with opened(tmp_path) as archive:
        assert [record.origin.patch_name for record in archive.programs[1:]] == [f"n_{n}" for n in range(1, 12)]


def test_requests_are_answered_or_failed_or_lost_and_counted_so(tmp_path: Path) -> None:
    """Killed at any moment, four in flight: what the server counts is what the record lists."""
    replies = steps(1, after_s=0.05)

    def behave(request: Any) -> Behaviour:
        if "program" not in request["messages"][0]["content"]:
            return status(400)
        return status(503, retry_after="0") if len(server.requests) % 5 == 0 else replies()

    with OpenAIServer(default=behave) as server:
        config = configure(tmp_path, models=[model(server.url)], generations=30, parallel=4)
        process = in_fork(tmp_path, "run", config, "--name", "r")
        for calls in (3, 12, 20, 31):
            wait_until(lambda calls=calls: count(tmp_path, "called", phase="calling") >= calls, process)  # type: ignore[misc]
            kill(process)
            process = in_fork(tmp_path, "resume", "r")
        process.join(60)
        assert process.exitcode == 0, (tmp_path / "out.txt").read_text()
        requests = len(server.requests)
    listed: Counter[str] = Counter()
    with opened(tmp_path) as archive:
        for generation in range(1, 31):
            for attempt in archive.attempts(generation):
                calls = calls_of(attempt, archive.calls(patch_key(generation, attempt.attempt)))
                listed.update(call.status for call in calls)
        assert set(archive.statuses.values()) <= {Status.EVALUATED, Status.REFUSED, Status.DUPLICATE}
        assert archive.committed().known_usd == 0
    assert set(listed) == {"stop", "server_error", "lost"}
    assert listed["stop"] == count(tmp_path, "answered")
    assert listed["server_error"] == count(tmp_path, "called", phase="failed")
    # A request is announced before it is sent: one that the kill came between was never sent.
    assert requests <= listed.total() <= requests + listed["lost"]


def test_a_meta_round_that_is_cut_off_goes_on_where_it_was(tmp_path: Path) -> None:
    replies = steps(1)

    def behave(request: Any) -> Behaviour:
        prompt = request["messages"][0]["content"]
        return replies() if "# What to do now" in prompt else answer(meta_answer(prompt), after_s=0.02)

    with OpenAIServer(default=behave) as server:
        config = configure(tmp_path, models=[model(server.url)], generations=8, meta_every=4)
        process = in_fork(tmp_path, "run", config, "--name", "r")
        for answers in (1, 3, 5, 6, 8):
            wait_until(lambda answers=answers: count(tmp_path, "meta_answered") >= answers, process)  # type: ignore[misc]
            kill(process)
            process = in_fork(tmp_path, "resume", "r")
        process.join(60)
        assert process.exitcode == 0, (tmp_path / "out.txt").read_text()
        asked = Counter(r.json["messages"][0]["content"] for r in server.requests if is_meta(r.json))
    with opened(tmp_path) as archive:
        assert list(archive.meta.documents) == [4, 8, 9]  # the last one closes the session
    keys = Counter(event["key"] for event in events(tmp_path) if event["event"] == "meta_answered")
    assert len(keys) == 15 and set(keys.values()) == {1}
    # Each of the five kills may have cut one request off, which is asked again; no other is.
    assert len(asked) == 15
    assert sum(asked.values()) <= 15 + 5


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
        wait_until(lambda: "Ctrl-C again" in (tmp_path / "out.txt").read_text(), process)
        os.kill(process.pid, signal.SIGINT)
        process.join(20)
        assert process.exitcode == 130
        finish(tmp_path, "resume", "r")
        assert len(server.requests) == 5
    assert count(tmp_path, "lost") == 2
    assert "Traceback" not in (tmp_path / "out.txt").read_text()


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


# -- the key, the budget, no answer at all ---------------------------------------------------------------------------


def descendants(root: int) -> list[int]:
    """The processes below one, as far as they live long enough to be read."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:
            continue
        parents[int(path.parent.name)] = int(text.rpartition(")")[2].split()[1])
    found = [root]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
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
            assert KEY.encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes()
        assert process.stdout is not None
        said = process.stdout.read()
        assert any(request.headers["authorization"] == f"Bearer {KEY}" for request in server.requests)
    evolve_says = [evolve(tmp_path, "show", "r", str(g), code=None) for g in (1, 2, 4)]
    said += "".join(ran.stdout + ran.stderr for ran in evolve_says).encode()
    said += evolve(tmp_path, "show", "r", "1", "--answer").stdout.encode()
    assert b"[key removed]" in said
    assert KEY.encode() not in said
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
    # No process of a candidate had the key. Ours have the environment: git, a fork that has not become a worker, and
    # the `uname` by which Python's own `platform` tells the client of models what machine this is.
    ours = ("git", "uname\0", f"{sys.executable}\0-m\0evolve\0")
    assert [command for command, environ in seen if KEY in environ and not command.startswith(ours)] == []


def test_a_key_alone_asks_nobody(tmp_path: Path) -> None:
    with OpenAIServer() as server:
        environment = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": server.url}
        evolve(tmp_path, "run", "--name", "r", "--generations", "2", "--set", "meta_every=2", environment=environment)
        evolve(tmp_path, "doctor", environment=environment, code=None)
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
            assert 0.2 < archive.spent_usd <= 0.3
            assert archive.finished == "budget"
            assert archive.committed().known_usd == 0
        patches = sum(not is_meta(request.json) for request in server.requests)
        assert archive.spent_usd == pytest.approx(0.02 * patches + 0.01 * (len(server.requests) - patches))
        assert patches < len(server.requests)


def test_the_budget_is_not_spent_on_repeating_what_timed_out(tmp_path: Path) -> None:
    with OpenAIServer(default=HANG) as server:
        priced = model(server.url, price_in=0.0, price_out=10.0, timeout_s=0.2)
        config = configure(tmp_path, models=[priced], generations=50)
        finish(tmp_path, "run", config, "--name", "r", "--budget-usd", "0.05", code=1)
        assert len(server.requests) == 2  # 0.02 USD each, should the server bill them
    with opened(tmp_path) as archive:
        assert archive.finished == "budget"
        assert archive.spent_usd == pytest.approx(0.04)


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
    with OpenAIServer(default=answer(patch(0.5))) as mended:
        resume = ["resume", "r", "--set", f"models.m.base_url={mended.url}", "--generations", "5"]
        evolve(tmp_path, *resume)
        assert len(mended.requests) >= 5
    with opened(tmp_path) as archive:
        assert not archive.unfinished()
        assert len(archive.programs) == 6 or archive.funnel.answered >= 5


@pytest.mark.parametrize("parallel", [1, 2])
def test_a_daily_limit_ends_the_run_for_resume_to_go_on_with(tmp_path: Path, parallel: int) -> None:
    limit = [step(1), step(2), status(429, retry_after="40000")]
    with OpenAIServer(limit, default=endless()) as server:
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


# -- doctor ------------------------------------------------------------------------------------------------------------


def test_doctor_puts_the_first_question_of_a_run_to_each_model_when_told_to(tmp_path: Path) -> None:
    prompts: list[str] = []

    def behave(received: Received) -> Behaviour:
        if received.path == "/v1/models":
            return raw(json.dumps({"data": [{"id": "m", "max_model_len": 33_000}]}).encode())
        prompts.append(received.json["messages"][0]["content"])
        if received.json["model"] == "other":
            return status(401, error="who are you?")
        if "temperature" in received.json:
            return status(400, error="Unsupported value: 'temperature' does not support 0.7 with this model.")
        return answer(patch(0.5), tokens=(9, 1))

    with OpenAIServer(endpoint=behave) as server:
        models = [
            model(server.url, temperature=0.7, top_p=0.9, max_tokens=5000),
            model(server.url, model="other"),
            model(server.url, name="x", api_key_env="NONE"),
        ]
        config = configure(tmp_path, models=models)
        told = json.loads(evolve(tmp_path, "doctor", "--endpoint", config, "--json", code=1).stdout)
        assert list(tmp_path.iterdir()) == [tmp_path / "config.yaml"]
        shown = evolve(tmp_path, "doctor", "--endpoint", config, "--model", "m").stdout
        finish(tmp_path, "run", config, "--name", "r", "--generations", "1", "--model", "m")
    checks = {check["name"]: check for check in told["checks"]}
    assert checks["model m"]["state"] == "ok"
    assert "9 tokens in, 1 out" in checks["model m"]["detail"]
    parameters = checks["model m: parameters"]
    assert parameters["detail"] == "takes top_p 0.9, max_tokens 5000; asked otherwise: temperature dropped"
    assert parameters["settings"] == {"temperature": None}
    assert checks["model m: usage"]["detail"] == "reported"
    assert "33,000 tokens" in checks["model m: context"]["detail"]
    assert (checks["model m: context"]["state"], checks["model m: context"]["settings"]) == (
        "broken",
        {"prompt_tokens": 28_000},
    )
    assert checks["model m: patch"]["state"] == "ok"
    assert checks["model m: cost"]["detail"] == "0.000026 USD for this question"
    assert checks["model other"]["state"] == "broken"
    assert "CLIMB_KEY" in checks["model other"]["fix"]
    assert checks["model x"]["state"] == "absent"
    assert "NONE is not set" in checks["model x"]["fix"]
    assert "model m: parameters: put into the configuration: temperature: null" in shown
    assert len(set(prompts)) == 1, "what doctor asks is what a run asks first"


def test_doctor_says_why_an_answer_is_no_patch_and_what_is_not_known(tmp_path: Path) -> None:
    with OpenAIServer(default=answer("I would rather not.", tokens=None)) as server:
        config = configure(tmp_path, models=[model(server.url, price_in=None, price_out=None)])
        told = json.loads(evolve(tmp_path, "doctor", "--endpoint", config, "--json", code=1).stdout)
    checks = {check["name"]: check for check in told["checks"]}
    assert checks["model m: patch"]["state"] == "broken"
    assert "no SEARCH/REPLACE block" in checks["model m: patch"]["detail"]
    assert (checks["model m: usage"]["state"], checks["model m: usage"]["needed"]) == ("absent", False)
    assert checks["model m: cost"]["detail"] == "price unknown"
    assert checks["model m: context"]["detail"].startswith("not stated; ")


def test_doctor_wants_a_model_to_ask(tmp_path: Path) -> None:
    assert "no model is named" in evolve(tmp_path, "doctor", "--endpoint", code=2).stderr
    assert "--endpoint" in evolve(tmp_path, "doctor", "--model", "m", code=2).stderr
