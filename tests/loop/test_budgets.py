"""A budget is kept whatever happens: by patches, documents and repeated calls together, and through kills; and it is
what the server counts."""

import itertools
import json
import os
import signal
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evolve.archive.calls import LOST
from evolve.core.completion import estimate_tokens
from evolve.review.run_facts import all_calls
from tests.loop.climbing import (
    configure,
    count,
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
from tests.openai_server import HANG, Behaviour, OpenAIServer, answer, status

PRICES = {"price_in": 1.0, "price_out": 5.0}  # US dollars for a million tokens


class Bill:
    """A server that counts what it answers: US dollars and tokens, by `PRICES`."""

    def __init__(self, *, tokens_out: int, after_s: float = 0.05) -> None:
        self.answers, self.tokens, self.usd, self.hung = 0, 0, 0.0, 0
        self.hangs_next = threading.Event()
        self._tokens_out, self._after_s = tokens_out, after_s
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()

    def __call__(self, request: Any) -> Behaviour:
        prompt = request["messages"][0]["content"]
        with self._lock:
            number = next(self._numbers)
            if number % 23 == 0 or self.hangs_next.is_set():
                self.hangs_next.clear()
                self.hung += 1
                return HANG
            if number % 11 == 0:
                return status(503, retry_after="0")
            tokens_in = estimate_tokens(prompt)
            self.answers += 1
            self.tokens += tokens_in + self._tokens_out
            self.usd += (PRICES["price_in"] * tokens_in + PRICES["price_out"] * self._tokens_out) / 1e6
        text = meta_answer(prompt) if is_meta(request) else patch(0.1 + number / 10_000)
        return answer(text, tokens=(tokens_in, self._tokens_out), after_s=self._after_s)


@pytest.mark.parametrize(("kills", "budget"), [(1, 0.1), pytest.param(10, 0.5, marks=pytest.mark.nightly)])
def test_a_budget_in_dollars_is_kept_through_kills_and_is_what_the_server_counts(
    tmp_path: Path, kills: int, budget: float
) -> None:
    """No answer is longer than was reckoned with here, so the budget is not exceeded at all. Killed with 16 in flight,
    what was on its way counts as much as it might have cost."""
    bill = Bill(tokens_out=200)
    with OpenAIServer(default=bill) as server:
        priced = model(server.url, **PRICES, max_tokens=200, timeout_s=2.0)
        keys = {"generations": 1000, "parallel": 16, "workers": 2, "meta_every": 15, "budget_usd": budget}
        config = configure(tmp_path, models=[priced], **keys)
        process = in_fork(tmp_path, "run", config, "--name", "r")
        for calls in range(30, 30 + 20 * kills, 20):
            wait_until(lambda calls=calls: count(tmp_path, "called", phase="calling") >= calls, process)  # type: ignore[misc]
            kill(process)
            process = in_fork(tmp_path, "resume", "r")
        bill.hangs_next.set()  # nobody kills it any more before that is told
        process.join(120)
        assert process.exitcode == 0, (tmp_path / "out.txt").read_text()
        requests = len(server.requests)
    with opened(tmp_path) as archive:
        assert archive.finished == "budget"
        spent, calls = archive.spent, all_calls(archive)
        assert archive.accounts.committed().known_usd == 0
    assert spent.known_usd <= budget
    assert spent.known_usd > budget - 0.05, "and it is used"
    by_status = Counter(call.status for _, _, call in calls)
    assert set(by_status) == {"stop", "server_error", "timeout", LOST}
    answered = [call.usage.cost_usd for _, _, call in calls if call.answered]
    unanswered = [call.usage.cost_usd for _, _, call in calls if not call.answered]
    assert spent.known_usd == pytest.approx(sum(answered) + sum(unanswered))
    assert (spent.unanswered, spent.unanswered_usd) == (len(unanswered), pytest.approx(sum(unanswered)))
    # What the server counted is what is on record as answered, but for answers that a kill came before: those are
    # among the lost ones, and each counts for as much as it cost.
    cut_off = bill.answers - len(answered)
    assert 0 <= cut_off <= by_status[LOST]
    assert sum(answered) <= bill.usd + 1e-9 and bill.usd <= spent.known_usd + 1e-9
    assert by_status["timeout"] <= bill.hung
    # A request is announced before it is sent: one that the kill came between was never sent.
    assert requests <= len(calls) == spent.calls <= requests + by_status[LOST]
    told = json.loads(evolve(tmp_path, "list", "r", "--json").stdout)
    assert (told["unanswered_calls"], told["unanswered_usd"]) == (spent.unanswered, pytest.approx(spent.unanswered_usd))
    assert f"for {spent.unanswered} calls that failed or got lost" in evolve(tmp_path, "list", "r").stdout


def test_a_budget_is_exceeded_by_no_more_than_what_answers_take_beyond_what_was_kept(tmp_path: Path) -> None:
    bill = Bill(tokens_out=700)
    with OpenAIServer(default=bill) as server:
        # The server does not hold itself to the limit of 200.
        priced = model(server.url, **PRICES, max_tokens=200, timeout_s=0.7)
        keys = {"generations": 1000, "parallel": 4, "meta_every": 1000, "budget_usd": 0.05}
        finish(tmp_path, "run", configure(tmp_path, models=[priced], **keys), "--name", "r")
    with opened(tmp_path) as archive:
        assert archive.finished == "budget"
        assert 0.045 < archive.spent.known_usd <= 0.05 + 4 * (700 - 200) * PRICES["price_out"] / 1e6


@pytest.mark.slow
@pytest.mark.parametrize(("key", "most"), [("budget_tokens", 24_000), ("budget_calls", 20)])
def test_a_budget_in_tokens_or_calls_ends_a_run_that_has_no_price(tmp_path: Path, key: str, most: int) -> None:
    bill = Bill(tokens_out=200)
    with OpenAIServer(default=bill) as server:
        unpriced = model(server.url, price_in=None, price_out=None, max_tokens=200, timeout_s=0.7)
        config = configure(tmp_path, models=[unpriced], generations=1000, parallel=4, meta_every=8)
        option = "--" + key.replace("_", "-")
        finish(tmp_path, "run", config, "--name", "r", option, str(most))
        with opened(tmp_path) as archive:
            assert archive.finished == key
            spent = archive.spent
            assert spent.cost_usd is None
            amount = spent.tokens if key == "budget_tokens" else spent.calls
            assert 0.8 * most < amount <= most
            assert spent.calls == len(server.requests)
        assert f"{option} {2 * most}" in (tmp_path / "out.txt").read_text(), "how to go on"
        finish(tmp_path, "resume", "r", option, str(2 * most))
        with opened(tmp_path) as archive:
            assert archive.finished == key
            amount = archive.spent.tokens if key == "budget_tokens" else archive.spent.calls
            assert 1.6 * most < amount <= 2 * most


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [1, 2])
def test_what_was_written_down_and_never_sent_is_reckoned_with_once(tmp_path: Path, parallel: int) -> None:
    """The first answers say that nothing more is taken for now; so the next questions wait, and then comes Ctrl-C."""
    none_left = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "600s"}

    def full(_: Any) -> Behaviour:
        return replace(answer(patch(0.1 + len(server.requests) / 100), after_s=0.5), headers=none_left)

    with OpenAIServer(default=full) as server:
        keys = {"generations": 50, "parallel": parallel, "budget_calls": 2 * parallel}
        config = configure(tmp_path, models=[model(server.url)], **keys)
        process = in_fork(tmp_path, "run", config, "--name", "r")
        wait_until(
            lambda: count(tmp_path, "asked") == 2 * parallel and count(tmp_path, "answered") == parallel, process
        )
        os.kill(process.pid, signal.SIGINT)
        process.join(60)
        assert process.exitcode == 130
        assert len(server.requests) == parallel
    with OpenAIServer(default=Bill(tokens_out=100)) as server:
        finish(tmp_path, "resume", "r", "--set", f"models.m.base_url={server.url}")
        assert len(server.requests) == parallel
    with opened(tmp_path) as archive:
        assert (archive.finished, archive.spent.calls) == ("budget_calls", 2 * parallel)


def test_a_search_over_numbers_takes_nothing_of_a_budget(tmp_path: Path) -> None:
    kinds = {"diff": 1.0, "full": 0.0, "cross": 0.0, "fix": 0.0, "tune": 4.0}
    search = {"elites": 1, "kinds": kinds, "tune_evaluations": 10}
    with OpenAIServer(default=Bill(tokens_out=100)) as server:
        keys = {"generations": 40, "parallel": 2, "budget_calls": 1, "search": search}
        finish(tmp_path, "run", configure(tmp_path, models=[model(server.url)], **keys), "--name", "r")
        assert len(server.requests) == 1, "the one call that is allowed is made"
    with opened(tmp_path) as archive:
        assert archive.finished == "budget_calls"
        assert archive.spent.calls == 1
        searched = [one for one in archive.statuses if one and archive.generations[one].kind == "tune"]
        assert len(searched) >= 2, "with searches beside it"
        assert archive.accounts.committed().calls == 0


def test_a_price_list_that_changes_later_changes_nothing_of_a_run(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("any:\n  m: {in: 2, out: 8, cached: 1, source: my provider, date: 2026-01-02}\n")
    with OpenAIServer(default=Bill(tokens_out=100)) as server:
        unpriced = model(server.url, price_in=None, price_out=None)
        config = configure(tmp_path, models=[unpriced], generations=3, budget_usd=1, prices=str(prices))
        finish(tmp_path, "run", config, "--name", "r")
        prices.write_text("any:\n  m: {in: 2000, out: 8000}\n")
        finish(tmp_path, "resume", "r", "--generations", "6")
        told = (tmp_path / "out.txt").read_text()
    assert told.count("m: 2 USD (1 from the cache) per million tokens in, 8 out (my provider, read 2026-01-02)") == 2
    with opened(tmp_path) as archive:
        assert archive.spent.known_usd == pytest.approx(
            (2 * archive.spent.tokens_in + 8 * archive.spent.tokens_out) / 1e6
        )
