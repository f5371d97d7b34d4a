"""A real HTTP server that speaks chat completions, and misbehaves on request.

    with OpenAIServer([status(429, retry_after="0"), answer("hello")]) as server:
        ... base_url=server.url ...
    assert len(server.requests) == 2

Behaviours are taken in order of arrival; after the last one `default` answers. A behaviour may also be a function
of the request (the parsed JSON) that returns a behaviour. `server.requests` holds every request that arrived.
"""

import json
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Behaviour:
    """What the server does with one request."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    hang: bool = False  # accept, and say nothing until the server closes
    drop: bool = False  # close the connection without an answer
    cut_after: int | None = None  # send so many bytes of the body, then close
    trickle_s: float = 0.0  # send a byte at a time, this far apart
    after_s: float = 0.0  # think for so long first


@dataclass(frozen=True, kw_only=True)
class Received:
    """One request: its headers (lower case) and its JSON."""

    headers: Mapping[str, str]
    json: Any


def answer(
    text: str | None,
    *,
    finish_reason: str | None = "stop",
    tokens: tuple[int, int] | None = (100, 10),
    after_s: float = 0.0,
    **message: Any,
) -> Behaviour:
    """A chat completion; `tokens` None leaves `usage` out, `message` adds fields to the message."""
    document: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 0,
        "model": "test",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, **message},
                "finish_reason": finish_reason,
            }
        ],
    }
    if tokens is not None:
        document["usage"] = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    return replace(raw(json.dumps(document).encode()), after_s=after_s)


def raw(body: bytes, *, status: int = 200) -> Behaviour:
    """These very bytes."""
    return Behaviour(body=body, status=status, headers={"Content-Type": "application/json"})


def status(http: int, /, *, retry_after: str | None = None, error: str = "as asked", **fields: Any) -> Behaviour:
    """An HTTP error with OpenAI's body."""
    headers = {"Content-Type": "application/json"}
    if retry_after is not None:
        headers["Retry-After"] = retry_after
    body = {"error": {"message": error, "type": "test", "param": None, "code": None, **fields}}
    return Behaviour(body=json.dumps(body).encode(), status=http, headers=headers)


def no_choices() -> Behaviour:
    """A completion with an empty list of choices."""
    return raw(b'{"id": "x", "object": "chat.completion", "choices": []}')


def refusal(text: str) -> Behaviour:
    """A refusal in the protocol's own field."""
    return answer(None, refusal=text)


class TokenBucket:
    """Lets through `rate` requests a second, and `burst` at once after a rest; the others get 429 and, in the `header`,
    how long they should wait (whole seconds, rounded up, as servers say it; `None` leaves that out).

        with OpenAIServer(default=TokenBucket(rate=20, burst=10, let_through=answer("x"))) as server:

    `arrivals` holds (moment, let through?) of every request."""

    def __init__(self, *, rate: float, burst: int, let_through: "Step", header: str | None = "Retry-After") -> None:
        self.arrivals: list[tuple[float, bool]] = []
        self._rate, self._burst, self._tokens, self._header = rate, burst, float(burst), header
        self._let_through = let_through
        self._lock = threading.Lock()
        self._last = time.monotonic()

    def __call__(self, request: Any) -> Behaviour:
        with self._lock:
            now = time.monotonic()
            self._tokens = min(self._burst, self._tokens + (now - self._last) * self._rate)
            self._last = now
            passes = self._tokens >= 1
            self._tokens -= passes
            self.arrivals.append((now, passes))
            wait = math.ceil((1 - self._tokens) / self._rate)
        if not passes:
            headers = {} if self._header is None else {self._header: str(wait)}
            return replace(status(429, error="slow down"), headers={"Content-Type": "application/json", **headers})
        return self._let_through if isinstance(self._let_through, Behaviour) else self._let_through(request)


HANG = Behaviour(hang=True)
DROP = Behaviour(drop=True)

Step = Behaviour | Callable[[Any], Behaviour]


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256  # with the usual 5, a burst of connections waits a second for its second try


class OpenAIServer:
    """Listens on a free loopback port while entered."""

    def __init__(self, behaviours: Sequence[Step] = (), *, default: Step | None = None) -> None:
        self.requests: list[Received] = []
        self._steps = list(behaviours)
        self._default = default or status(500, error="the test expected no further request")
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._server = _Listener(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    @property
    def url(self) -> str:
        """The base_url of a model that this server plays."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> "OpenAIServer":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()

    def take(self, received: Received) -> Behaviour:
        """Count a request, and say what to do with it."""
        with self._lock:
            self.requests.append(received)
            step = self._steps.pop(0) if self._steps else self._default
        return step if isinstance(step, Behaviour) else step(received.json)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                behaviour = server.take(Received(headers=headers, json=json.loads(body)))
                if self.path != "/v1/chat/completions":
                    behaviour = status(404, error=f"no such path: {self.path}")
                try:
                    self._behave(behaviour)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def _behave(self, behaviour: Behaviour) -> None:
                if behaviour.hang:
                    server._closing.wait()
                if behaviour.after_s:
                    server._closing.wait(behaviour.after_s)
                if behaviour.hang or behaviour.drop:
                    self.close_connection = True
                    return
                self.send_response(behaviour.status)
                for name, value in behaviour.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(behaviour.body)))
                self.end_headers()
                if behaviour.trickle_s:
                    for byte in behaviour.body:
                        if server._closing.wait(behaviour.trickle_s):
                            break
                        self.wfile.write(bytes([byte]))
                        self.wfile.flush()
                else:
                    self.wfile.write(behaviour.body[: behaviour.cut_after])
                if behaviour.cut_after is not None:
                    self.close_connection = True

            def log_message(self, *_: object) -> None:
                """The tests look at `requests`."""

        return Handler
