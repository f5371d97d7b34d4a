"""`evolve view`: what it answers, to which clients, and during a run or its failure."""

import os
import shutil
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import quote

import pytest

from evolve.archive.archive import Archive
from tests.loop.climbing import TASK, evolve
from tests.view.serving import PATIENCE_S, Served, command, serving


@pytest.fixture(scope="module")
def served(runs: Path) -> Iterator[Served]:
    with serving(runs, "--no-open") as found:
        yield found


@pytest.fixture
def growing(tmp_path: Path, recorded_runs, make_evaluation):
    """A folder with the run `runs/grows`, which its user writes."""
    run = recorded_runs("grows")
    run.initial("a = 1\n")
    run.archive.close()
    shutil.move(run.archive.folder, tmp_path / "runs" / "grows")
    with Archive.open(tmp_path / "runs" / "grows") as archive:
        run.archive = archive
        yield run


def test_the_runs_and_what_they_hold_are_shown(served: Served) -> None:
    listed = served.ask("/api/runs").json
    assert [row["name"] for row in listed["runs"]] == ["first", "second"]
    assert listed["unreadable"] == []
    first = listed["runs"][0]
    assert (first["best"], first["programs"], first["generations"], first["correct"]) == (22.0, 2, 3, 2)
    assert first["curve"] == [20.0, 22.0, 22.0]
    document = served.ask("/api/run/first").json
    assert document["gens"]["n"] == [0, 1, 2]
    assert document["gens"]["mark"] == ["best", "best", "refused"]
    rest = served.ask("/api/run/first/rest").json
    assert rest.pop("rest_version") == document["version"]
    assert rest == {key: document[key] for key in rest}
    assert {"funnel", "failures", "yields", "meta", "calls", "instances", "lines", "config"} <= set(rest)
    assert served.ask("/api/run/first/gen/1").json["code"] == "a = 2\n"
    assert served.ask("/api/run/first/gen/2").json["attempts"][0]["answer"] == "no patch at all"
    assert served.ask("/api/run/first/code/1").json == {"code": "a = 2\n"}
    assert served.ask("/api/run/first/code/2").json == {"code": None}


def test_the_page_itself_is_one_text_under_a_strict_policy(served: Served) -> None:
    page = served.ask("/")
    assert page.status == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy


@pytest.mark.parametrize("path", ["/", "/api/runs", "/api/run/first/gen/1", "/api/run/nobody", "/favicon.ico"])
def test_every_answer_forbids_what_a_page_could_do_with_it(served: Served, path: str) -> None:
    for answer in (served.ask(path), served.ask(path, host="evil.example"), served.ask(path, method="POST")):
        assert answer.headers["content-security-policy"].startswith("default-src 'none'")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "localhost", "127.0.0.1:1", "localhost.evil.example:{port}", ""]
)
def test_who_calls_it_by_another_name_gets_nothing(served: Served, host: str) -> None:
    for path in ("/", "/api/runs", "/api/events?run=first"):
        answer = served.ask(path, host=host.format(port=served.port))
        assert answer.status in (400, 421), path
        assert b"first" not in answer.body, path


@pytest.mark.parametrize("host", ["localhost:{port}", "127.0.0.1:{port}", "[::1]:{port}", "LOCALHOST:{port}"])
def test_the_names_of_this_machine_are_its_own(served: Served, host: str) -> None:
    assert served.ask("/api/runs", host=host.format(port=served.port)).status == 200


@pytest.mark.parametrize(
    "below", ["", "/", "/nonsense", "/{key}x", "/{short}", "/%{key}", "/api", "//{key}", "/\u00e9"]
)
def test_who_does_not_know_the_key_gets_nothing(served: Served, below: str) -> None:
    key = served.below[1:]
    for path in ("/", "/api/runs", "/api/run/first", "/api/events?run=first", "/nothing"):
        answer = served.ask(path, below=quote(below.format(key=key, short=key[:-1]), safe="/%"))
        assert answer.status == 403, path
        assert set(answer.json) == {"error"}, path
        assert key.encode() not in answer.body, path
        assert b"first" not in answer.body, path


def test_each_server_has_a_key_of_its_own(runs: Path, served: Served) -> None:
    with serving(runs, "--no-open") as another:
        assert another.below != served.below
        assert another.ask("/api/runs", below=served.below).status == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "EVOLVE"])
def test_it_is_only_read_from(served: Served, method: str) -> None:
    answer = served.ask("/api/runs", method=method)
    assert answer.status == 405
    assert b"first" not in answer.body


def test_head_is_get_without_the_body(served: Served) -> None:
    assert served.ask("/api/runs", method="HEAD").headers["content-length"] == str(len(served.ask("/api/runs").body))
    assert served.ask("/api/events?run=first", method="HEAD").body == b""


@pytest.mark.parametrize(
    "path",
    [
        "/api/run/..",
        "/api/run/../outside",
        "/api/run/%2e%2e",
        "/api/run/%2e%2e%2foutside",
        "/api/run/..%2Foutside",
        "/api/run/linked",
        "/api/run/notes.txt",
        "/api/run/first%2f..%2ffirst",
        "/api/run/first%00",
        "/api/run//first",
        "/api/run/{outside}",
        "/api/events?run=../outside",
        "/api/events?run=linked",
        "/api/run/first/gen/-1",
        "/api/run/first/gen/1e0",
        "/api/run/first/gen/" + "1" * 5000,
        "/api/run/first/gen/%D9%A1",
        "/api/run/first/journal.jsonl",
        "/runs/first/journal.jsonl",
        "/static/main.js",
        "//127.0.0.1/api/runs",
    ],
)
def test_no_path_leads_to_anything_but_a_run_of_the_folder(served: Served, runs: Path, path: str) -> None:
    answer = served.ask(path.format(outside=str(runs / "outside").replace("/", "%2f")))
    assert answer.status == 404
    assert set(answer.json) == {"error"}


def test_no_other_address_of_this_machine_is_listened_at(served: Served) -> None:
    others = ["127.0.0.2"]
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: says by which address it would go
            others.append(probe.getsockname()[0])
        except OSError:  # no network at all
            pass
    for other in others:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((other, served.port), timeout=PATIENCE_S)


def test_a_new_program_is_shown_as_it_is_recorded(tmp_path: Path, growing, make_evaluation) -> None:
    with serving(tmp_path, "runs/grows") as served, served.listening("grows") as events:
        assert served.address.endswith("/#/run/grows")
        before = served.ask("/api/run/grows").json
        assert before["state"]["running"] is True
        initial = growing.archive.reader.programs[0]
        growing.propose(1, [initial], source="a = 3\n", evaluation=make_evaluation(score=23.0))
        shown: dict[str, list[object]] = {"n": [], "value": []}
        while shown["value"] != [23.0]:
            kind, event = next(events)
            assert kind == "message"
            shown = event["gens"]
            assert shown["n"] == [1]  # and none of those that have not changed
        assert event["best"] == 1
        rest = served.ask("/api/run/grows/rest").json
        assert [stage["count"] for stage in rest["funnel"]] == [1] * 8
        assert rest["instances"]["columns"] == [0, 1]
        growing.archive.stopped("generations")
        while event["state"]["finished"] is None:
            _, event = next(events)
        assert event["state"]["finished"] == "generations"
        growing.archive.close()
        while event["state"]["running"]:
            _, event = next(events)
        assert served.ask("/api/run/grows").json["gens"]["n"] == [0, 1]


def test_nothing_is_lost_between_a_document_and_its_events(tmp_path: Path, growing, make_evaluation) -> None:
    with serving(tmp_path) as served:
        version = served.ask("/api/run/grows").json["version"]
        growing.propose(
            1, [growing.archive.reader.programs[0]], source="a = 3\n", evaluation=make_evaluation(score=23.0)
        )
        with served.listening("grows", version) as events:
            assert next(events)[1]["gens"]["value"] == [23.0]
        with served.listening("grows", "nonsense") as events:  # of a server that was here before, say: all of it
            assert next(events)[1]["gens"]["n"] == [0, 1]


def test_at_the_port_that_browsers_leave_out_its_names_are_without_it(runs: Path) -> None:
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", 80))
        except OSError as cause:
            pytest.skip(f"port 80: {cause.strerror}")
    with serving(runs, "runs", "--port", "80") as served:
        assert served.ask("/api/runs", host="127.0.0.1").status == 200
        assert served.ask("/api/runs", host="127.0.0.1:80").status == 200
        assert served.ask("/api/runs", host="evil.example").status == 421


def test_ctrl_c_ends_it_at_once_though_somebody_listens(runs: Path) -> None:
    with serving(runs) as served, served.listening("first"):
        assert served.interrupt() == (130, "evolve: interrupted\n")


def test_a_port_that_is_taken_is_said_or_another_one_found(runs: Path, served: Served) -> None:
    with serving(runs, "runs") as another:
        assert another.port != served.port
    ran = evolve(runs, "view", "--port", str(served.port), code=2)
    assert f"cannot listen on port {served.port} (--port): Address already in use" in ran.stderr
    assert (ran.stdout, ran.stderr.count("\n")) == ("", 1)


@pytest.mark.parametrize("words", [["nowhere"], ["outside/programs.git"], ["--port", "0"], ["--port", "many"]])
def test_what_cannot_be_shown_is_one_sentence(runs: Path, words: list[str]) -> None:
    ran = evolve(runs, "view", "--no-open", *words, code=2)
    assert (ran.stdout, ran.stderr.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    "how",
    [None, pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL],
    ids=["its end", "ctrl-c", "kill"],
)
def test_the_background_page_of_a_run_lasts_as_long_as_the_run(tmp_path: Path, how: signal.Signals | None) -> None:
    words = ["--task", str(TASK), "--generations", "3" if how is None else "100000"]
    served = command(tmp_path, "run", "--view", "--name", "r", *words, place=tmp_path)
    assert served.address.endswith("/#/run/r")
    if how is not None:
        assert served.ask("/api/run/r").json["name"] == "r"
        arguments = b"".join(map(_read, Path("/proc").glob("[0-9]*/cmdline")))
        assert b"--socket" in arguments
        assert served.below[1:].encode() not in arguments, "the key is no argument that others could read"
        os.kill(served.process.pid, how)
    served.process.join(PATIENCE_S)
    assert served.process.exitcode is not None
    while how is signal.SIGKILL and not _is_gone(served):  # nobody waited for it
        time.sleep(0.05)
    assert _is_gone(served)


def _is_gone(served: Served) -> bool:
    """Whether nobody listens there any more but, at most, another server, which has another key."""
    try:
        return served.ask("/api/run/r").status == 403
    except OSError:
        return True


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # its process has ended
        return b""


def test_many_listeners_of_many_runs_are_shown(tmp_path: Path, growing, make_evaluation) -> None:
    with serving(tmp_path) as served, served.listening("grows") as one, served.listening("grows") as two:
        growing.propose(
            1, [growing.archive.reader.programs[0]], source="a = 3\n", evaluation=make_evaluation(score=23.0)
        )
        for events in (one, two):
            while next(events)[1]["best"] != 1:
                pass


def test_connections_without_the_key_neither_stay_nor_keep_its_owner_out(runs: Path) -> None:
    with ExitStack() as stack:
        served = stack.enter_context(serving(runs, "--no-open", descriptors=256))

        def connect(sent: str = "") -> socket.socket:
            made = stack.enter_context(socket.create_connection(("127.0.0.1", served.port), timeout=PATIENCE_S))
            made.sendall(sent.encode())
            return made

        head = f"Host: 127.0.0.1:{served.port}\r\n"
        listener = connect(f"GET {served.below}/api/events?run=first HTTP/1.1\r\n{head}\r\n")
        assert listener.recv(100).startswith(b"HTTP/1.1 200")
        idle = [connect() for _ in range(400)]
        assert served.ask("/").status == 200
        assert [row["name"] for row in served.ask("/api/runs").json["runs"]] == ["first", "second"]
        idle.append(connect(f"GET {served.below}/ HTTP/1.1\r\n{head}"))  # a request that does not end
        idle.append(connect(f"GET /api/runs HTTP/1.1\r\n{head}\r\n"))  # one without the key
        for connection in idle:
            with suppress(ConnectionResetError):
                while connection.recv(65536):
                    pass
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):  # a client with the key is not sent away
            while listener.recv(65536):
                pass
        code, errors = served.interrupt()
        assert (code, "Traceback" in errors) == (130, False)
        assert len(errors) < 500


def test_no_file_is_written_by_looking(runs: Path, served: Served) -> None:
    def state() -> dict[str, tuple[int, int]]:
        files = [path for path in (runs / "runs").rglob("*") if path.is_file()]
        return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in files}

    before = state()
    for path in ("/", "/api/runs", "/api/run/first", "/api/run/first/gen/1"):
        assert served.ask(path).status == 200
    assert state() == before
