"""A model that is a command: what it is given, what is taken of it, and that nothing of it is left."""

import json
import os
import pty
import select
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from evolve.core.completion import ANSWER_LIMIT, CallEvent, CallFailed, Completion, Message, PatchKey
from evolve.core.config import ModelConfig, build_config, render_config
from evolve.core.errors import InputError, MachineError
from evolve.propose.command_llm import CommandLLM
from evolve.propose.retry import RetryPolicy
from tests.journals import events_of
from tests.loop.climbing import ROOT, configure, evolve, in_fork, model, patch, wait_until
from tests.openai_server import OpenAIServer, status

SECRET = "sk-other-3f9a51c07be2"
OWN = "sk-own-77d1c2aa90b4"


def tool(folder: Path, body: str, name: str = "tool") -> list[str]:
    """A program of Python as a command."""
    path = folder / f"{name}.py"
    path.write_text(f"import json, os, subprocess, sys, time\n{body}\n")
    return [sys.executable, str(path)]


def ask(command: list[str], prompt: str = "hello", **more: Any) -> tuple[Completion, list[CallEvent]]:
    events: list[CallEvent] = []
    settings = {
        "name": "t",
        "model": "tool",
        "command": command,
        "api_key_env": None,
        "timeout_s": 20.0,
        "price_in": 1.0,
        "price_out": 2.0,
    }
    settings |= {key: more.pop(key) for key in list(more) if key in settings}
    more = {"stopping": threading.Event(), "retry": RetryPolicy(tries=2, first_wait_s=0.001)} | more
    llm = CommandLLM(ModelConfig(**settings), **more)
    try:
        return llm.complete([Message(role="user", content=prompt)], key=PatchKey(1, 0), observe=events.append), events
    except CallFailed as failed:
        failed.events = events  # type: ignore[attr-defined]
        raise


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def gone(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(pid)


def test_the_prompt_goes_in_and_the_answer_comes_out_with_an_estimate(tmp_path: Path) -> None:
    prompt = "ä" * 300_000  # more than a pipe holds
    done, events = ask(tool(tmp_path, "sys.stdout.write('n=%d' % len(sys.stdin.read()))"), prompt)
    assert (done.text, done.finish_reason) == ("n=300000", "stop")
    assert (done.usage.tokens_in, done.usage.tokens_out, done.usage.estimated) == (75_000, 2, True)
    assert done.usage.cost_usd == pytest.approx((75_000 * 1.0 + 2 * 2.0) / 1e6)
    assert [event.phase for event in events] == ["calling", "answered"]


def test_a_command_that_does_not_read_its_prompt_answers_all_the_same(tmp_path: Path) -> None:
    done, _ = ask(tool(tmp_path, "os.close(0); print('no need')"), "x" * 500_000)
    assert done.text == "no need\n"


def test_an_exit_code_is_a_failed_call_that_is_repeated_and_the_last_line_of_stderr_is_shown(tmp_path: Path) -> None:
    body = "print('half an answer'); sys.stderr.write('warming up\\nno licence found\\n\\n'); sys.exit(3)"
    with pytest.raises(CallFailed) as failed:
        ask(tool(tmp_path, body))
    assert failed.value.reason == "server_error"
    assert "exit code 3: no licence found (after 2 attempts)" in str(failed.value)
    assert "warming up" not in str(failed.value)
    events: list[CallEvent] = failed.value.events  # type: ignore[attr-defined]
    assert [event.status for event in events] == ["calling", "server_error"] * 2
    assert [event.usage.tokens_out for event in events] == [events[0].usage.tokens_out] * 4, "all may be spent"
    assert all("what was kept for it counts as spent" in event.message for event in events if event.phase == "failed")


def test_a_command_that_fails_once_is_asked_again(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    body = f"p = {str(mark)!r}\nif not os.path.exists(p): open(p, 'w'); sys.exit(1)\nprint('now')"
    done, events = ask(tool(tmp_path, body))
    assert done.text == "now\n"
    assert [event.phase for event in events] == ["calling", "failed", "calling", "answered"]


def test_a_command_that_is_not_there_is_not_asked_again() -> None:
    with pytest.raises(CallFailed) as failed:
        ask(["/no/such/tool"])
    assert failed.value.reason == "not_found"
    assert "/no/such/tool cannot be run (No such file or directory)" in str(failed.value)
    events: list[CallEvent] = failed.value.events  # type: ignore[attr-defined]
    assert len(events) == 2
    assert not events[1].usage and "counts" not in events[1].message


@pytest.mark.parametrize(("body", "reason"), [("", "empty"), ("print('  ')", "empty")])
def test_an_empty_answer_is_called_that(tmp_path: Path, body: str, reason: str) -> None:
    assert ask(tool(tmp_path, body))[0].finish_reason == reason


def test_an_endless_answer_is_cut_and_the_command_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    done, _ = ask(tool(tmp_path, f"open({str(pid)!r}, 'w').write(str(os.getpid()))\nwhile True: print('x' * 1000)"))
    assert (done.finish_reason, len(done.text)) == ("oversize", ANSWER_LIMIT)
    assert gone(int(pid.read_text()))


CHILD = """
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
json.dump([os.getpid(), child.pid], open(PIDS + ".new", "w")); os.rename(PIDS + ".new", PIDS)
"""


def with_child(folder: Path, then: str) -> tuple[list[str], Path]:
    pids = folder / "pids"
    return tool(folder, f"PIDS = {str(pids)!r}\n{CHILD}\n{then}"), pids


def test_at_the_limit_its_children_end_too(tmp_path: Path) -> None:
    command, pids = with_child(tmp_path, "time.sleep(600)")
    with pytest.raises(CallFailed) as failed:
        ask(command, timeout_s=2.0, retry=RetryPolicy(tries=1))
    assert failed.value.reason == "timeout"
    assert "did not end within 2 s" in str(failed.value)
    assert all(gone(pid) for pid in json.loads(pids.read_text()))


def test_what_it_leaves_running_ends_with_it(tmp_path: Path) -> None:
    command, pids = with_child(tmp_path, "print('done')")
    assert ask(command)[0].text == "done\n"
    assert all(gone(pid) for pid in json.loads(pids.read_text()))


def test_the_runs_end_ends_it(tmp_path: Path) -> None:
    command, pids = with_child(tmp_path, "time.sleep(600)")
    stopping = threading.Event()

    def stop() -> None:
        while not pids.exists():
            time.sleep(0.01)
        stopping.set()

    threading.Thread(target=stop, daemon=True).start()
    with pytest.raises(CallFailed) as failed:
        ask(command, stopping=stopping)
    assert failed.value.reason == "cancelled"
    assert all(gone(pid) for pid in json.loads(pids.read_text()))


def test_it_has_the_users_environment_without_the_keys_of_others_and_no_key_is_repeated(tmp_path: Path) -> None:
    environ = {**os.environ, "OTHER_KEY": SECRET, "OWN_KEY": OWN, "COLOUR": "green"}
    command = tool(tmp_path, f"print(json.dumps(dict(os.environ))); print({SECRET!r}, os.environ['OWN_KEY'])")
    done, _ = ask(command, api_key_env="OWN_KEY", keys=["OTHER_KEY", "OWN_KEY"], environ=environ)
    seen, last = done.text.strip().splitlines()
    assert json.loads(seen)["COLOUR"] == "green"
    assert json.loads(seen)["OWN_KEY"] == "[key removed]"
    assert "OTHER_KEY" not in json.loads(seen)
    assert last == "[key removed] [key removed]"
    failing = tool(tmp_path, f"sys.stderr.write({OWN!r} + ' is no key'); sys.exit(1)")
    with pytest.raises(CallFailed) as failed:
        ask(failing, api_key_env="OWN_KEY", keys=["OTHER_KEY", "OWN_KEY"], environ=environ)
    output = str(failed.value) + "".join(event.message for event in failed.value.events)  # type: ignore[attr-defined]
    assert "[key removed] is no key" in output
    assert OWN not in output


def test_what_is_called_like_a_secret_is_not_repeated_though_nobody_names_it(tmp_path: Path) -> None:
    secrets = {"GITHUB_TOKEN": "abcd-1234", "key": "aaaa-5678", "DB_PASSWORD": "pass word 9", "A_SECRET": "a_secret_8"}
    plain = {"KEYBOARD": "qwertz_layout", "MY_KEY": "short"}
    output = " ".join([*secrets.values(), *plain.values()])
    with pytest.raises(CallFailed) as failed:
        ask(tool(tmp_path, f"sys.stderr.write({output!r}); sys.exit(1)"), environ={**os.environ, **secrets, **plain})
    messages = str(failed.value) + "".join(event.message for event in failed.value.events)  # type: ignore[attr-defined]
    assert "exit code 1: [key removed] [key removed] [key removed] [key removed] qwertz_layout short" in messages
    assert not any(value in messages for value in secrets.values())


def test_its_own_key_must_be_set() -> None:
    with pytest.raises(MachineError, match="OWN_KEY is not set"):
        ask(["true"], api_key_env="OWN_KEY", environ={})


@pytest.mark.parametrize(
    "key",
    [
        {"base_url": "http://x/v1"},
        {"client": "a:B"},
        {"api": "responses"},
        {"stream": True},
        {"headers": {"X-Team": "a"}},
        {"query": {"api-version": "1"}},
        {"temperature": 1.0},
        {"top_p": 0.5},
        {"effort": "low"},
        {"max_tokens": 5},
        {"extra_body": {"a": 1}},
    ],
)
def test_what_says_nothing_to_a_command_is_refused(key: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"is a command, which does not use {next(iter(key))}"):
        build_config({"models": [{"model": "m", "command": ["x"], **key}]}, origin="c")


def test_the_configuration_of_one_is_written_and_read_again() -> None:
    command = ["tool", "--print", 'a "b" c', "ü😀"]
    config = build_config({"models": [{"model": "m", "command": command}]}, origin="c")
    assert config.models[0].api_key_env is None, "no tool sees OpenAI's key by default"
    from evaluator.yaml_file import parse_mapping

    assert build_config(parse_mapping(render_config(config), "c", error=InputError), origin="c") == config
    for wrong in ([], "tool", ["tool", 1]):
        with pytest.raises(InputError, match=r"models\[0\]\.command"):
            build_config({"models": [{"model": "m", "command": wrong}]}, origin="c")


# -- whole runs ------------------------------------------------------------------------------------------------------

AGENT = f"""
prompt = sys.stdin.read()
assert "CLIMB_KEY" not in os.environ
sys.stderr.write("a key that I found: {SECRET}\\n")
print({patch(1)!r}.replace("-= 1", "-= %r" % (1 + len(prompt) / 1e6)), "{SECRET}")
"""


@pytest.mark.slow
def test_a_run_by_a_command_can_be_gone_on_with_done_again_and_holds_no_key(tmp_path: Path) -> None:
    command = tool(tmp_path, AGENT, "agent")
    models = [{"model": "agent", "command": command, "timeout_s": 30.0}, model("http://127.0.0.1:9/v1", weight=0.0)]
    config = configure(tmp_path, models=models, generations=3, parallel=2, meta_model="agent")
    environment = {"CLIMB_KEY": SECRET}
    ran = evolve(tmp_path, "run", config, "--name", "r", environment=environment)
    assert "Patches by agent" in ran.stdout
    ran = evolve(tmp_path, "resume", "r", "--generations", "5", environment=environment)
    journal = list(events_of(tmp_path / "runs/r/journal.jsonl"))
    answered = [event for event in journal if event["event"] == "answered"]
    assert {event["generation"] for event in answered} == {1, 2, 3, 4, 5}
    assert all(event["estimated"] and event["cost_usd"] is None for event in answered)
    assert "[key removed]" in evolve(tmp_path, "show", "r", "1", "--answer").stdout
    for path in (tmp_path / "runs").rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()
    Path(command[1]).unlink()
    evolve(tmp_path, "rerun", "r")  # nobody is asked, and no command run
    refused = evolve(tmp_path, "resume", "r", environment={"XDG_STATE_HOME": str(tmp_path / "nobody")}, code=2).stderr
    assert "agent.py (runs as you, with your environment), with no key" in refused


@pytest.mark.slow
def test_doctor_asks_a_command_for_a_word(tmp_path: Path) -> None:
    models = [{"model": "agent", "command": tool(tmp_path, "print('ok')")}]
    config = configure(tmp_path, models=models)
    assert "model agent" in evolve(tmp_path, "doctor", "--endpoint", config, code=None).stdout
    models[0]["command"] = ["/no/such/tool"]
    output = evolve(tmp_path, "doctor", "--endpoint", configure(tmp_path, models=models), code=None).stdout
    assert "no answer: not_found" in output


@pytest.mark.slow
def test_doctor_gives_a_command_no_key_of_another_model(tmp_path: Path) -> None:
    seen = tmp_path / "seen.json"
    command = tool(tmp_path, f"json.dump(dict(os.environ), open({str(seen)!r}, 'w'))\nprint({SECRET!r})")
    environment = {"CLIMB_KEY": SECRET, "TEAM_KEY": OWN}
    with OpenAIServer(endpoint=lambda _: status(401)) as server:
        elsewhere = model(server.url, headers={"X-Team": "$TEAM_KEY"})
        config = configure(tmp_path, models=[{"model": "agent", "command": command}, elsewhere])
        output = evolve(tmp_path, "doctor", "--endpoint", config, environment=environment, code=1).stdout
        assert server.requests
    assert "PATH" in (environ := json.loads(seen.read_text()))
    assert not environ.keys() & environment.keys()
    assert SECRET not in output


def test_ctrl_c_ends_a_commands_children(tmp_path: Path) -> None:
    command, pids = with_child(tmp_path, "time.sleep(600)")
    config = configure(tmp_path, models=[{"model": "agent", "command": command}], generations=2)
    process = in_fork(tmp_path, "run", config, "--name", "r")
    wait_until(pids.exists, process)
    os.kill(process.pid, signal.SIGINT)  # an answer on its way is waited for, as everywhere
    wait_until(lambda: "waiting for 1 model answer" in (tmp_path / "out.txt").read_text(), process)
    assert all(alive(pid) for pid in json.loads(pids.read_text()))
    os.kill(process.pid, signal.SIGINT)
    process.join(30)
    assert process.exitcode == 130
    assert all(gone(pid) for pid in json.loads(pids.read_text()))


def test_when_the_terminal_goes_the_answer_is_waited_for_and_no_command_is_left(tmp_path: Path) -> None:
    command, pids = with_child(tmp_path, f"time.sleep(1); print({patch(1)!r})")
    config = configure(tmp_path, models=[{"model": "agent", "command": command}], generations=50)
    words = [sys.executable, "-m", "evolve", "run", config, "--name", "r", "--yes"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    process, terminal = pty.fork()
    if process == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests themselves may run under nohup
        os.chdir(tmp_path)
        os.execvpe(sys.executable, words, environ)
    deadline = time.monotonic() + 60
    while not pids.exists():  # a terminal that nobody reads would stop it
        assert time.monotonic() < deadline
        if select.select([terminal], [], [], 0.05)[0]:
            os.read(terminal, 65536)
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    assert all(gone(pid) for pid in json.loads(pids.read_text()))
    journal = list(events_of(tmp_path / "runs/r/journal.jsonl"))
    assert [event["generation"] for event in journal if event["event"] == "answered"] == [1]
    assert journal[-1]["reason"] == "interrupted"


def test_a_hangup_that_is_ignored_stays_so(tmp_path: Path) -> None:
    command, pids = with_child(tmp_path, f"time.sleep(0.3); print({patch(1)!r})")
    config = configure(tmp_path, models=[{"model": "agent", "command": command}], generations=3)
    words = ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh", sys.executable, "-m", "evolve", "run", config, "--name", "r"]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(words, cwd=tmp_path, env=environ, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while not pids.exists():
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGHUP)
        assert process.wait(60) == 0
    assert sum(event["event"] == "answered" for event in events_of(tmp_path / "runs/r/journal.jsonl")) == 3


def test_a_path_of_a_command_is_kept_whole(tmp_path: Path) -> None:
    path = tmp_path / "agent.sh"
    path.write_text(f"#!{sys.executable}\nprint({patch(1)!r})\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    config = configure(tmp_path, models=[{"model": "agent", "command": ["./agent.sh"]}], generations=1)
    evolve(tmp_path, "run", config, "--name", "r")
    assert f'command: ["{path}"]' in (tmp_path / "runs/r/run.yaml").read_text()
