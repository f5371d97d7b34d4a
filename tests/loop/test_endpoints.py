"""Runs at endpoints that refuse or bend something: they finish, and no refusal is met twice, nor after resume."""

import contextlib
import re
import zlib
from pathlib import Path

import pytest

import evolve
from evolve.archive.reader import RunReader
from evolve.progress import Adapted
from tests.fake_endpoints import AZURE_KEY, ENDPOINTS, Endpoint, played
from tests.loop.climbing import KEY, TASK, count, events


class Heard:
    """A listener that keeps what it is told."""

    def __init__(self) -> None:
        self.adapted: list[str] = []

    def tell(self, event: object, progress: object) -> None:
        if isinstance(event, Adapted):
            self.adapted += map(str, event.changes)

    def tick(self, progress: object) -> None:
        """Nothing is to be told."""


@pytest.fixture(autouse=True)
def a_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLIMB_KEY", KEY)
    monkeypatch.setenv("AZURE_KEY", AZURE_KEY)


def held(path: Path) -> bytes:
    """What a file holds, and what is compressed in it: git's objects, loose or in a pack."""
    content, found = path.read_bytes(), []
    for start in (match.start() for match in re.finditer(rb"x[\x01\x5e\x9c\xda]", content)):
        with contextlib.suppress(zlib.error):
            found.append(zlib.decompressobj().decompress(content[start:]))
    return b"\n".join([content, *found])


# One of each kind: a parameter refused, a stream, another API. The slow set has the others.
QUICK = ("openai_reasoning", "wants_streams", "responses_only", "no_usage")


@pytest.mark.parametrize(
    "endpoint",
    [pytest.param(one, id=one.name, marks=[] if one.name in QUICK else [pytest.mark.slow]) for one in ENDPOINTS],
)
def test_a_run_finishes_and_each_refusal_is_met_once(endpoint: Endpoint, tmp_path: Path) -> None:
    heard = Heard()
    with played(endpoint) as playing:
        model = {"model": "m", "base_url": playing.url, "api_key_env": "CLIMB_KEY", "price_in": 2.0, "price_out": 8.0}
        config = {
            "task": str(TASK),
            "generations": 5,
            "parallel": 4,
            "workers": 1,
            "meta_every": 1000,
            "search": {"elites": 1, "unguided": 0.0, "kinds": {"diff": 1.0, "full": 0.0, "cross": 0.0, "fix": 0.0}},
            "models": [model | dict(endpoint.settings)],
        }
        evolve.run(config, name="r", listener=heard)
        met = dict(playing.refusals)
        evolve.resume("r", settings={"generations": 8}, listener=heard)
        assert dict(playing.refusals) == met, "after resume nothing is refused that was refused before"
        assert set(met.values()) <= {1}
        requests = len(playing.server.requests)
    assert sorted(heard.adapted) == sorted(endpoint.adapted)
    failed = [event for event in events(tmp_path) if event["event"] == "called" and event["phase"] == "failed"]
    assert len(failed) == len(met), [event["message"] for event in failed]
    assert sum(len(event["adapted"]) for event in failed) == len(endpoint.adapted)
    assert requests == count(tmp_path, "answered") + len(met)
    with RunReader.open(tmp_path / "runs" / "r") as archive:
        assert {str(one) for one in archive.timeline.adaptations} == endpoint.adapted
        answered = [archive.attempts(number)[-1] for number in archive.statuses if number]
        assert len(answered) == 8
        assert all(attempt.usage.estimated is not endpoint.usage for attempt in answered)
        for attempt in answered:
            assert (archive.text(attempt.reasoning) if attempt.reasoning else "") == endpoint.thought
    written = b"".join(held(path) for path in (tmp_path / "runs").rglob("*") if path.is_file())
    assert b"OFFSET" in written
    assert KEY.encode() not in written
    assert AZURE_KEY.encode() not in written
