"""Answers without end, and answers that point elsewhere: neither takes memory, the key or the prompt."""

import subprocess
import sys
import threading
import zlib
from pathlib import Path
from typing import Any

import pytest

from evolve.core.completion import CallFailed, PatchKey
from evolve.propose.waking import WakingEvent
from tests.openai_server import Behaviour, OpenAIServer, answer
from tests.propose.asking import ASK, KEY, ask, client

ROOT = Path(__file__).resolve().parents[2]
MIB = 1024 * 1024
FLOOD = 128 * MIB
IN_FLIGHT = 16 * MIB  # what the buffers of a connection may hold that nobody has read

_CHILD = """
import resource, sys
sys.path.insert(0, sys.argv[2])
from evolve.core.completion import CallFailed, PatchKey
from evolve.propose.retry import RetryPolicy
from tests.propose.asking import ASK, client

llm = client(sys.argv[1], RetryPolicy(tries=1, patience_s=0.0), timeout_s=60.0)
llm.complete(ASK, key=PatchKey(1, 0), observe=lambda event: None)  # loads what a call needs
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(int(sys.argv[3])):
    try:
        llm.complete(ASK, key=PatchKey(1, 0), observe=lambda event: None)
    except CallFailed as failed:
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, failed)
"""


def flood(http: int, **headers: str) -> Behaviour:
    """A body that goes on and on."""
    return Behaviour(body=b"x" * 65536, status=http, headers=headers, flood=FLOOD)


def bomb(http: int, encoding: str) -> Behaviour:
    """A small body that is decoded to a large one."""
    packer = zlib.compressobj(1, wbits=zlib.MAX_WBITS | 16)
    body = b"".join([*(packer.compress(bytes(MIB)) for _ in range(FLOOD // MIB)), packer.flush()])
    return Behaviour(body=body, status=http, headers={"Content-Encoding": encoding})


def test_a_body_of_any_status_takes_little_memory_and_is_left_early() -> None:
    too_large = "HTTP {} (its body was not read: it is larger than 1048576 bytes)"
    steps = [
        (flood(500), too_large.format(500), 40),
        (flood(302, Location="http://127.0.0.1:9/"), "HTTP 302: the server redirects to", 40),
        (bomb(500, "gzip"), too_large.format(500), 40),
        (bomb(500, "gzip, gzip"), "it is encoded in a way that was not asked for", 40),
        (flood(200), "the answer was not read: it is larger than 8388608 bytes", 60),
        (bomb(200, "gzip"), "the answer was not read: it is larger than 8388608 bytes", 60),
        (flood(429), too_large.format(429), 60),
    ]
    with OpenAIServer([answer("hello"), *(step for step, _, _ in steps)]) as server:
        child = subprocess.run(
            [sys.executable, "-c", _CHILD, server.url, str(ROOT), str(len(steps))],
            capture_output=True,
            text=True,
            check=False,
        )
        assert child.stderr == ""
        found = [line.partition(" ") for line in child.stdout.splitlines()]
        for (grown, _, message), (_, expected, most) in zip(found, steps, strict=True):
            assert expected in message
            assert int(grown) < most
        assert len(server.requests) == 1 + len(steps)
        first, redirect, success, limited = server.flooded
        assert max(first, redirect, limited) < MIB + IN_FLIGHT
        assert success < 8 * MIB + IN_FLIGHT


def test_a_compressed_answer_is_read() -> None:
    plain = answer("at last").body
    packer = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    packed = Behaviour(body=packer.compress(plain) + packer.flush(), headers=headers)
    outcome, _, server = ask([packed])
    assert getattr(outcome, "text", outcome) == "at last"
    assert server.requests[0].headers["accept-encoding"] == "gzip"


def test_what_is_not_the_encoding_that_it_says_is_asked_again() -> None:
    wrong = Behaviour(body=answer("x").body, headers={"Content-Encoding": "gzip"})
    outcome, events, _ = ask([wrong, answer("at last")])
    assert getattr(outcome, "text", outcome) == "at last"
    assert (events[1].status, "cannot be decoded" in events[1].message) == ("bad_response", True)


@pytest.mark.parametrize("http", [200, 500])
def test_an_attempt_that_was_given_up_closes_its_answer(http: int) -> None:
    """The server sends a byte now and then, which no timeout of a single read would ever end."""
    slow = Behaviour(body=b"x", status=http, flood=FLOOD, trickle_s=0.05)
    stopping, events = WakingEvent(), list[Any]()
    with OpenAIServer([slow]) as server:
        llm = client(server.url, stopping=stopping, timeout_s=30.0)
        threading.Timer(0.3, stopping.set).start()
        with pytest.raises(CallFailed) as failed:
            llm.complete(ASK, key=PatchKey(1, 0), observe=events.append)
        assert failed.value.reason == "cancelled"
        assert server.flood_ended.wait(20)
        assert server.flooded[0] < 1000


@pytest.mark.parametrize("http", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("header", ["Authorization", "api-key"])
def test_a_redirect_is_not_followed_and_its_place_is_named(http: int, header: str) -> None:
    changes = {} if header == "Authorization" else {"headers": {"api-key": "$TEST_KEY"}}
    with OpenAIServer(default=answer("caught")) as other:
        place = f"{other.url}/chat/completions?key={KEY}\x1b[2J"
        step = Behaviour(status=http, headers={"Location": place})
        outcome, events, server = ask([step], **changes)
        assert isinstance(outcome, CallFailed)
        assert outcome.reason == "not_found"
        shown = f"HTTP {http}: the server redirects to '{other.url}/chat/completions?key=[key removed]"
        assert shown in str(outcome)
        assert shown in events[1].message
        assert "\x1b" not in str(outcome)
        assert KEY not in str(outcome)
        assert [len(server.requests), len(other.requests)] == [1, 0]
        assert server.requests[0].headers[header.lower()].endswith(KEY)
