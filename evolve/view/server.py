"""The pages, live: a server for this machine alone that only ever reads.

    GET /                      the page
    GET /api/runs              {"runs": [a row of each], "unreadable": [{"run", "reason"}]}
    GET /api/run/NAME          a run; `version` says how far its record was read
    GET /api/run/NAME/gen/N    a generation
    GET /api/run/NAME/code/N   {"code": the source of its program}
    GET /api/compare?run=A&run=B   what `evolve compare` says of these runs
    GET /api/events?run=NAME&since=VERSION   what has changed since, as Server-Sent Events, as it is written

Whatever is wrong with a run is said as {"error": a sentence}, and as an event `trouble`; the server lives on.
"""

import asyncio
import json
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from evaluator.errors import EvaluatorError
from evolve.archive.archive import Archive
from evolve.errors import EvolveError
from evolve.review import comparison
from evolve.view import payload
from evolve.view.assets import live_page
from evolve.view.following import FollowedRun, FollowedRuns
from evolve.view.summary import run_summary

_POLL_S: Final = 0.3
"""How often the size of a journal is looked at while somebody listens."""
_BEAT_S: Final = 15.0
"""How often a silent stream says that it is alive."""
_KNOWN: Final = (EvolveError, EvaluatorError)
_CLOSED: Final = "default-src 'none'; frame-ancestors 'none'"
_HEADERS: Final = {
    "content-security-policy": _CLOSED,
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


def serve(folder: Path, listening: socket.socket, *, until_closed: int | None = None) -> None:
    """Serve the runs in `folder` on a socket that listens, until a signal comes (Ctrl-C: KeyboardInterrupt), or until
    whoever holds the other end of the pipe `until_closed` closes it."""
    runs = FollowedRuns(folder)
    app = application(runs, port=listening.getsockname()[1], ending=lambda: server.should_exit)
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            log_config=None,  # what goes wrong in here is a traceback on stderr
            access_log=False,
            lifespan="off",
            ws="none",
            http="h11",
            loop="asyncio",
            server_header=False,
            timeout_graceful_shutdown=2,
        )
    )
    if until_closed is not None:
        threading.Thread(target=_end_with, args=(until_closed, server), daemon=True).start()
    try:
        server.run(sockets=[listening])
    finally:
        runs.close()


def _end_with(descriptor: int, server: uvicorn.Server) -> None:
    """End the server when the other end of a pipe is closed, be it by the death of its holder."""
    while os.read(descriptor, 1024):
        pass
    server.should_exit = True


def application(runs: FollowedRuns, *, port: int, ending: Callable[[], bool]) -> ASGIApp:
    """What answers at that port; streams end soon after `ending` says so."""
    answers = _Answers(runs, ending)
    routes = [
        Route("/", answers.page),
        Route("/api/runs", answers.all_runs),
        Route("/api/run/{name}", answers.run),
        Route("/api/run/{name}/gen/{number}", answers.generation),
        Route("/api/run/{name}/code/{number}", answers.code),
        Route("/api/compare", answers.compare),
        Route("/api/events", answers.events),
    ]
    inner = Starlette(routes=routes, exception_handlers={HTTPException: _nothing, **dict.fromkeys(_KNOWN, _unreadable)})
    inner.router.redirect_slashes = False
    return _Guard(inner, port)


class _Guard:
    """Lets through what the page asks: by a name of this machine, at this port, to read. Puts the headers on answers.

    The check of Host keeps out other sites whose name was made to point at this machine (DNS rebinding).
    """

    def __init__(self, app: ASGIApp, port: int) -> None:
        self._app = app
        self._hosts = {f"{host}:{port}".encode() for host in ("localhost", "127.0.0.1", "[::1]")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def put(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                more = [(name.encode(), value.encode()) for name, value in _HEADERS.items()]
                message["headers"] = [*message["headers"], *(pair for pair in more if pair[0] not in given)]
            await send(message)

        if scope["type"] != "http":
            return
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            refused = _json({"error": "this server answers to localhost and its port alone"}, 421)
            await refused(scope, receive, put)
        elif scope["method"] not in ("GET", "HEAD"):
            refused = _json({"error": "this server is only read from"}, 405)
            refused.headers["allow"] = "GET, HEAD"
            await refused(scope, receive, put)
        else:
            await self._app(scope, receive, put)


class _Answers:
    """One method for each address. What reads a record does so in a thread, so that none waits for another run's."""

    def __init__(self, runs: FollowedRuns, ending: Callable[[], bool]) -> None:
        self._runs = runs
        self._ending = ending

    async def page(self, request: Request) -> Response:
        found = live_page()
        return HTMLResponse(found.html, headers={"content-security-policy": found.policy})

    async def all_runs(self, request: Request) -> Response:
        rows, failures = await run_in_threadpool(self._runs.of_each, run_summary)
        unreadable = [{"run": name, "reason": str(failure)} for name, failure in failures]
        return _json({"runs": rows, "unreadable": unreadable})

    async def run(self, request: Request) -> Response:
        run = self._known(request.path_params["name"])

        def whole(archive: Archive, version: str) -> str:
            return _text(payload.run_document(run.folder.name, archive) | {"version": version})

        return Response(await run_in_threadpool(run.document, whole), media_type="application/json")

    async def generation(self, request: Request) -> Response:
        return await self._of_generation(request, payload.generation_document)

    async def code(self, request: Request) -> Response:
        def found(archive: Archive, number: int) -> dict[str, Any]:
            record = archive.program(number)
            return {"code": None if record is None else archive.source(record)}

        return await self._of_generation(request, found)

    async def compare(self, request: Request) -> Response:
        runs = [self._known(name) for name in request.query_params.getlist("run")]

        def compared() -> dict[str, Any]:
            read = (run.ask(partial(comparison.read_run, run.folder.name)) for run in runs)
            return comparison.comparison_json(comparison.grouped(read))

        return _json(await run_in_threadpool(compared))

    async def events(self, request: Request) -> Response:
        run = self._known(request.query_params.get("run", ""))
        since = request.headers.get("last-event-id") or request.query_params.get("since", "")
        headers = {"content-type": "text/event-stream"}
        if request.method == "HEAD":
            return Response(headers=headers)
        return StreamingResponse(self._stream(run, since), headers=headers)

    async def _of_generation(self, request: Request, question: Callable[[Archive, int], dict[str, Any]]) -> Response:
        run, text = self._known(request.path_params["name"]), request.path_params["number"]
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1

        def found(archive: Archive) -> dict[str, Any] | None:
            return question(archive, number) if number in archive.statuses else None

        document = await run_in_threadpool(run.ask, found)
        return _json(document) if document is not None else _json({"error": "the run has no such generation"}, 404)

    async def _stream(self, run: FollowedRun, since: str) -> AsyncIterator[str]:
        """What changes in a run after the version `since` (empty: from now on), until the server ends."""
        trouble, silent = "", 0.0
        yield "retry: 1000\n\n"
        while not self._ending():
            try:
                since, event = await run_in_threadpool(_news, run, since)
                now = ""
            except _KNOWN as failure:
                event, now = None, str(failure)
            if now != trouble:
                trouble = now
                yield _event({"error": trouble}, "event: trouble")
            if event is not None:
                yield _event(event | {"version": since}, f"id: {since}")
            silent = 0.0 if event is not None else silent + _POLL_S
            if silent > _BEAT_S:
                silent = 0.0
                yield ":\n\n"
            await asyncio.sleep(_POLL_S)

    def _known(self, name: str) -> FollowedRun:
        try:
            return self._runs.run(name)
        except KeyError:
            raise HTTPException(404, "there is no run of that name") from None


def _news(run: FollowedRun, since: str) -> tuple[str, dict[str, Any] | None]:
    """The version of a run now, and the event that tells what has changed since another; None when nothing has."""
    if not since:
        return run.versioned(lambda archive: None)

    def told(archive: Archive, events: int | None) -> dict[str, Any]:
        if events is None:  # read anew, so that all of it may be another
            return payload.run_document(run.folder.name, archive)
        return payload.changes(archive, events)

    return run.news(since, told)


def _event(document: dict[str, Any], *heads: str) -> str:
    return "\n".join([*heads, f"data: {_text(document)}", "", ""])


def _json(document: object, status: int = 200) -> Response:
    return Response(_text(document), status, media_type="application/json")


def _text(document: object) -> str:
    return json.dumps(document, separators=(",", ":"), allow_nan=False)


async def _unreadable(request: Request, failure: Exception) -> Response:
    return _json({"error": str(failure)}, 503)


async def _nothing(request: Request, failure: Exception) -> Response:
    assert isinstance(failure, HTTPException)
    return _json({"error": failure.detail}, failure.status_code)
