"""The real command `evolve view`, and what a browser or somebody else may ask of it."""

import http.client
import json
import os
import re
import resource
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.loop.climbing import ROOT, kill, start

PATIENCE_S = 60.0
_ADDRESS = re.compile(r"(http://127\.0\.0\.1:\d+/[\w-]{24}/\S*)\s")


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Served:
    process: Any
    address: str
    errors: Path
    """The file with what it said on stderr."""

    @property
    def port(self) -> int:
        return int(self.address.split(":")[2].partition("/")[0])

    @property
    def below(self) -> str:
        """What each path begins with: the key."""
        return "/" + self.address.split("/")[3]

    def ask(self, path: str, *, method: str = "GET", host: str | None = None, below: str | None = None) -> Answer:
        """What it says to a request for exactly that path below `below`, its key, from somebody who calls it `host`
        (empty: by no name)."""
        path = (self.below if below is None else below) + path
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.putrequest(method, path, skip_host=True)
        if host != "":
            connection.putheader("Host", host or f"127.0.0.1:{self.port}")
        connection.endheaders()
        reply = connection.getresponse()
        headers = {name.lower(): value for name, value in reply.getheaders()}
        found = Answer(reply.status, headers, reply.read())
        connection.close()
        return found

    @contextmanager
    def listening(self, run: str, since: str | None = None) -> Iterator[Iterator[tuple[str, Any]]]:
        """The events of a run as they come after a version, or that of now: (`message` or `trouble`, what it says)."""
        since = self.ask(f"/api/run/{run}").json["version"] if since is None else since
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request("GET", f"{self.below}/api/events?run={run}&since={since}")
        reply = connection.getresponse()
        assert reply.status == 200
        assert reply.getheader("content-type") == "text/event-stream"

        def events() -> Iterator[tuple[str, Any]]:
            kind = "message"
            for line in iter(reply.readline, b""):
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name == "event":
                    kind = value
                elif name == "data":
                    yield kind, json.loads(value)
                elif name == "":
                    kind = "message"

        assert reply.readline() == b"retry: 1000\n"
        try:
            yield events()
        finally:
            connection.close()

    def interrupt(self) -> tuple[int, str]:
        """Ctrl-C: its exit code, and what it said then."""
        os.kill(self.process.pid, signal.SIGINT)
        self.process.join(PATIENCE_S)
        return self.process.exitcode, self.errors.read_text()


def command(folder: Path, *words: str, place: Path, descriptors: int | None = None) -> Served:
    """The command in a fork, which opens no browser and has at most that number of descriptors, once it has said at
    which address it serves. What it says on stdout and stderr is in the files `out` and `err` of `place`."""
    environment = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    limit = None if descriptors is None else (descriptors, descriptors)
    prepare = None if limit is None else partial(resource.setrlimit, resource.RLIMIT_NOFILE, limit)
    out, err = place / "out", place / "err"
    process = start(folder, words, environment | {"PYTHONPATH": str(ROOT)}, out=out, err=err, prepare=prepare)
    while (found := _ADDRESS.search(out.read_text() if out.exists() else "")) is None:
        assert process.is_alive(), err.read_text()
        time.sleep(0.005)
    return Served(process, found[1], err)


@contextmanager
def serving(folder: Path, *words: str, descriptors: int | None = None) -> Iterator[Served]:
    """`evolve view` in a folder until the block ends."""
    with tempfile.TemporaryDirectory() as place:
        served = command(folder, "view", *words, place=Path(place), descriptors=descriptors)
        try:
            yield served
        finally:
            kill(served.process)
