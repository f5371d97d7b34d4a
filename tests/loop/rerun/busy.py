"""A run with much in it: two models over HTTP, eight in flight, retries, refusals, insights reports, failed calls."""

import itertools
import threading
from pathlib import Path
from typing import Any

from tests.loop.climbing import configure, is_meta, meta_answer, model, patch
from tests.openai_server import Behaviour, OpenAIServer, answer, status


class Busy:
    """What the server does: each proposal another step, some of it wrong, and each so often an error first.

    From request `hold_from` on it answers nothing, and `holding` is set, until `go_on` is.
    """

    def __init__(self, hold_from: int) -> None:
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._hold_from = hold_from
        self.holding = threading.Event()
        self.go_on = threading.Event()

    def __call__(self, request: Any) -> Behaviour:
        with self._lock:
            number = next(self._numbers)
        if number >= self._hold_from and not self.go_on.is_set():
            self.holding.set()
            self.go_on.wait(60)
        if number % 11 == 3:
            return status(500, retry_after="0")
        if number % 23 == 7:
            return status(429, retry_after="0")
        if is_meta(request):
            return answer(meta_answer(request["messages"][0]["content"]), tokens=(400, 40))
        if number % 31 == 5:
            return status(400, error="not today")  # no retry helps with that: the generation fails
        if number % 13 == 4:
            return answer("Let me think about it.")
        if number % 17 == 6:
            return answer(patch("OFFSET = None", name="broken"))
        if number % 9 == 8:
            return answer(patch(2.5, name="again"))  # the same program where the parent is the same
        return answer(patch(0.5 + number / 997, name=f"step_{number}"), tokens=(number, 2 * number))


def busy_config(folder: Path, server: OpenAIServer, **keys: Any) -> str:
    """The configuration of such a run."""
    models = [model(server.url, model="left", weight=2.0), model(server.url, model="right", price_out=3.0)]
    settings: dict[str, Any] = {
        "models": models,
        "generations": 32,
        "parallel": 8,
        "workers": 2,
        "meta_every": 5,
        "attempts": 2,
        "search": {"elites": 6, "unguided": 0.2, "stagnation": 5},
    }
    return configure(folder, **settings | keys)
