"""The real command `evolve view`, and what a browser or somebody else may ask of it."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
PATIENCE_S = 60.0


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
    process: subprocess.Popen[str]
    address: str

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
        self.process.send_signal(signal.SIGINT)
        _, errors = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, errors


_LIMITED = (
    "import os, resource, sys\nlimit = int(sys.argv[1])\nresource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))\n"
)
_LIMITED += "os.execv(sys.executable, [sys.executable, *sys.argv[2:]])"


def command(folder: Path, *words: str, descriptors: int | None = None) -> subprocess.Popen[str]:
    """The command in a process of its own, which opens no browser, and has so many descriptors at most."""
    limited = () if descriptors is None else ("-c", _LIMITED, str(descriptors))
    environment = {key: value for key, value in os.environ.items() if key not in ("DISPLAY", "WAYLAND_DISPLAY")}
    return subprocess.Popen(
        [sys.executable, *limited, "-m", "evolve", *words],
        cwd=folder,
        env=environment | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def serving(folder: Path, *words: str, descriptors: int | None = None) -> Iterator[Served]:
    """`evolve view` in a folder until the block ends."""
    process = command(folder, "view", *words, descriptors=descriptors)
    assert process.stdout is not None
    told = process.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{24}/\S*", told)
    if found is None:
        raise AssertionError(f"{told}\n{process.communicate()[1]}")
    try:
        yield Served(process, found[0])
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()
