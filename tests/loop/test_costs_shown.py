"""What a run is said to have cost, where no price is known, where nothing was spent, and where it was cut off."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from evolve.view.payload import run_document
from tests.loop.climbing import configure, evolve, finish, in_fork, kill, model, opened, patch, script, wait_until
from tests.openai_server import HANG, OpenAIServer, answer, raw, status

UNPRICED: dict[str, Any] = {"price_in": None, "price_out": None}


def test_without_a_price_failed_calls_cost_what_nobody_knows(tmp_path: Path) -> None:
    with OpenAIServer([raw(b"hello")], default=answer(patch(1))) as server:
        config = configure(tmp_path, models=[model(server.url, **UNPRICED)], generations=1)
        ran = evolve(tmp_path, "run", config, "--name", "r")
    assert "cost unknown (no price is given) (of which cost unknown for" in ran.stdout
    shown = [ran.stdout, *(evolve(tmp_path, *words).stdout for words in (["list"], ["list", "r"], ["show", "r", "1"]))]
    assert "0.0000" not in "".join(shown).replace("1.000000", "")
    output = json.loads(evolve(tmp_path, "list", "r", "--json").stdout)
    assert (output["cost_usd"], output["unanswered_usd"]) == (None, None)
    assert (output["unanswered_calls"], output["model_calls"]) == (1, 2)


def test_refused_calls_cost_nothing_and_are_shown_so(tmp_path: Path) -> None:
    with OpenAIServer(default=status(401)) as server:
        config = configure(tmp_path, models=[model(server.url, **UNPRICED)], generations=1)
        ran = evolve(tmp_path, "run", config, "--name", "r", code=None)
    assert "nothing for 1 call that failed or got lost" in ran.stdout
    for words in (["list"], ["list", "r", "--all"]):
        text = evolve(tmp_path, *words).stdout
        assert "nothing" in text and "0.0000" not in text.replace(".000000", "")
    other = configure(tmp_path, models=[script(tmp_path, [patch(1)])], generations=1)
    evolve(tmp_path, "run", other, "--name", "s", code=None)
    row = next(line for line in evolve(tmp_path, "compare", "r", "s").stdout.splitlines() if " r " in line)
    assert "nothing" in row


@pytest.mark.parametrize("how", ["ctrl-c twice", pytest.param("kill -9", marks=pytest.mark.slow)])
def test_calls_that_were_under_way_when_the_run_was_cut_off_are_shown_before_it_is_resumed(
    tmp_path: Path, how: str
) -> None:
    with OpenAIServer([HANG, HANG], default=answer(patch(1))) as server:
        config = configure(tmp_path, models=[model(server.url, timeout_s=300.0)], generations=2, parallel=2)
        process = in_fork(tmp_path, "run", config, "--name", "r")
        wait_until(lambda: len(server.requests) >= 2, process)
        going_on = json.loads(evolve(tmp_path, "list", "r", "--json").stdout)
        assert (going_on["running"], going_on["calls_under_way"]) == (True, 2)
        assert "2 calls under way, with" in evolve(tmp_path, "list", "r").stdout
        if how == "kill -9":
            kill(process)
        else:
            os.kill(process.pid, signal.SIGINT)
            wait_until(lambda: "Ctrl-C quits now" in (tmp_path / "out.txt").read_text(), process)
            os.kill(process.pid, signal.SIGINT)
            process.join(20)
            assert "2 calls were interrupted; on resume they are charged as" in (tmp_path / "out.txt").read_text()
        output = json.loads(evolve(tmp_path, "list", "r", "--json").stdout)
        assert (output["running"], output["calls_under_way"], output["tokens"], output["cost_usd"]) == (
            False,
            2,
            0,
            0.0,
        )
        text = evolve(tmp_path, "list", "r").stdout
        assert "2 calls were interrupted; on resume they are" in text
        assert "unknown" in evolve(tmp_path, "list").stdout
        assert "interrupted during this call" in " ".join(evolve(tmp_path, "show", "r", "1").stdout.split())
        with opened(tmp_path) as archive:
            kept = run_document("r", archive)["spent"]["under_way"]
        assert kept == {"calls": 2, "tokens": output["tokens_under_way"], "cost_usd": output["usd_under_way"]}
        finish(tmp_path, "resume", "r")
    after = json.loads(evolve(tmp_path, "list", "r", "--json").stdout)
    assert (after["calls_under_way"], after["unanswered_calls"]) == (0, 2)
    assert after["unanswered_usd"] == pytest.approx(output["usd_under_way"]) and output["usd_under_way"] > 0
    assert "cut off" not in evolve(tmp_path, "list", "r").stdout
