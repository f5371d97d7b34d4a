"""The scripted LLM: which answer it gives depends on the request alone, and its file is checked whole."""

from pathlib import Path

import pytest

from evolve.core.completion import CallEvent, CallFailed, Message, PatchKey, RequestKey, meta_key
from evolve.core.errors import InputError
from evolve.propose.scripted import ScriptedLLM

SCRIPT = """
answers:
  - one
  - [bad, good]
  - {text: cut, finish_reason: length, tokens_in: 9, tokens_out: 5, cost_usd: 0.25}
  - {error: rate_limited}
meta:
  - {summaries: each, summaries/2/0: the second part, insights: {error: timeout}}
"""


def script(folder: Path, text: str) -> ScriptedLLM:
    file = folder / "script.yaml"
    file.write_text(text)
    return ScriptedLLM(file)


def ask(llm: ScriptedLLM, key: RequestKey) -> str:
    message = Message(role="user", content="please")
    return llm.complete([message], key=key, observe=lambda _: None).text


def test_an_answer_depends_on_the_request_and_not_on_the_order(tmp_path: Path) -> None:
    llm = script(tmp_path, SCRIPT)
    expected = {
        PatchKey(2, 1): "good",
        PatchKey(1, 0): "one",
        PatchKey(2, 0): "bad",
        PatchKey(1, 5): "one",
        PatchKey(2, 7): "good",
        meta_key("meta/1/summaries/2/0"): "the second part",
        meta_key("meta/1/summaries/1/0"): "each",
        meta_key("meta/1/summaries/1/1"): "each",
    }
    for keys in (list(expected), sorted(expected, key=str), list(expected)):
        assert {key: ask(llm, key) for key in keys} == expected


def test_tokens_cost_and_ending_are_those_of_the_file(tmp_path: Path) -> None:
    events: list[CallEvent] = []
    llm = script(tmp_path, SCRIPT)
    done = llm.complete([Message(role="user", content="x" * 8)], key=PatchKey(3, 0), observe=events.append)
    assert (done.finish_reason, done.usage.tokens_in, done.usage.tokens_out, done.usage.cost_usd) == (
        "length",
        9,
        5,
        0.25,
    )
    assert [(e.phase, e.status, e.usage.cost_usd) for e in events] == [
        ("calling", "calling", 0.0),
        ("answered", "length", 0.25),
    ]
    estimated = llm.complete([Message(role="user", content="x" * 8)], key=PatchKey(1, 0), observe=events.append)
    assert (estimated.usage.tokens_in, estimated.usage.tokens_out, estimated.usage.estimated) == (2, 1, True)


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (PatchKey(4, 0), "rate_limited"),
        (PatchKey(5, 0), "script_ended"),
        (meta_key("meta/1/insights/1/0"), "timeout"),
        (meta_key("meta/2/insights/1/0"), "script_ended"),
    ],
)
def test_an_error_or_a_missing_answer_is_a_failed_call(tmp_path: Path, key: RequestKey, reason: str) -> None:
    events: list[CallEvent] = []
    with pytest.raises(CallFailed, match=str(key)) as failed:
        script(tmp_path, SCRIPT).complete([], key=key, observe=events.append)
    assert failed.value.reason == reason
    assert [(e.phase, e.status) for e in events] == [("calling", "calling"), ("failed", reason)]


def test_the_path_is_no_part_of_the_name(tmp_path: Path) -> None:
    assert script(tmp_path, SCRIPT).name == "scripted"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no answers"),
        ("- a\n- b\n", "must be a mapping"),
        ("answer: [a]", "did you mean 'answers'"),
        ("answers: text", "answers: must be a list, not 'text'"),
        ("answers: [7]", r"line 1: answers\[0\]\[0\]: must be text, or a mapping .*, not 7"),
        ("answers: [a, []]", r"answers\[1\]: must have at least 1 item, not \[\]"),
        ("answers: [a]\nmeta: [{summary: b}]", r"meta\[0\]"),
        ("answers: [[a, {}]]", r"answers\[0\]\[1\]: must be text, or a mapping with either"),
        ("answers: [{text: a, error: timeout}]", "either `text` or `error`"),
        ("answers: [{text: 12}]", "quote it"),
        ("answers: [{text: a, finish: b}]", r"did you mean 'answers\[0\]\[0\].finish_reason'"),
        ("answers: [{text: a, finish_reason: done}]", "finish_reason: must be 'stop', .* not 'done'"),
        ("answers: [{error: kaput}]", "error: must be .*, not 'kaput'"),
        ("answers: [{error: null}]", "either `text` or `error`$"),
        ("answers: [{text: a, tokens_in: -1}]", "tokens_in: must be .* 0, not -1"),
        ("answers: [{text: a, cost_usd: .nan}]", "cost_usd: must be a finite number, not nan"),
        ("meta: [text]", r"meta\[0\]: must be a mapping, not 'text'"),
        ("answers: [", "is not valid YAML"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        script(tmp_path, text)
    assert "script.yaml" in str(refused.value)


def test_a_missing_file_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.yaml"):
        ScriptedLLM(tmp_path / "nowhere.yaml")
