"""What a run is said to have cost, where no price is known, where nothing was spent, and where it was cut off."""

import json
from pathlib import Path
from typing import Any

from tests.openai_server import OpenAIServer, raw, status
from tests.run.climbing import configure, evolve, model, patch, script

UNPRICED: dict[str, Any] = {"price_in": None, "price_out": None}


def test_without_a_price_failed_calls_cost_what_nobody_knows(tmp_path: Path) -> None:
    with OpenAIServer(default=raw(b"<html>hello</html>")) as server:
        config = configure(tmp_path, models=[model(server.url, **UNPRICED)], generations=1)
        ran = evolve(tmp_path, "run", config, "--name", "r", code=None)
    assert "cost unknown (no price is given) (of which cost unknown for" in ran.stdout
    shown = [ran.stdout, *(evolve(tmp_path, *words).stdout for words in (["list"], ["list", "r"], ["show", "r", "1"]))]
    assert "0.0000" not in "".join(shown).replace("1.000000", "")
    told = json.loads(evolve(tmp_path, "list", "r", "--json").stdout)
    assert (told["cost_usd"], told["unanswered_usd"]) == (None, None)
    assert told["unanswered_calls"] == told["model_calls"] > 0


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
