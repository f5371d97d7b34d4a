"""Whether a configured model answers: asked for one token, and only when the person wants it."""

import threading
from dataclasses import replace

from evaluator.untrusted import one_line
from evolve.completion import CallEvent, CallFailed, Completion, Message
from evolve.config import ModelConfig
from evolve.doctor.machine import Check, Finding
from evolve.errors import InputError, MachineError
from evolve.opening import open_llm, settings_of
from evolve.propose.openai_llm import OpenAILLM
from evolve.propose.retry import RetryPolicy
from evolve.review.calls import usage_text

_TIMEOUT_S = 60.0
_QUESTION = Message(role="user", content="Say ok.")


def check_model(model: ModelConfig) -> Check:
    """One call to a model; a scripted one has its file read."""
    name = f"model {one_line(model.shown_name, 60)}"
    try:
        if model.script is not None:
            open_llm(model, seed=0, stopping=threading.Event())
            return Check(name=name, state=Finding.OK, detail=f"{model.script} can be read")
        return _called(name, _ask(model))
    except MachineError as lacking:
        return Check(name=name, state=Finding.ABSENT, detail="not asked: it lacks its key", fix=str(lacking))
    except InputError as wrong:
        return Check(name=name, state=Finding.BROKEN, detail="not asked: its settings are wrong", fix=str(wrong))
    except CallFailed as failed:
        return Check(name=name, state=Finding.BROKEN, detail=f"no answer: {failed.reason}", fix=str(failed))


def _ask(model: ModelConfig) -> Completion:
    if model.command is not None:
        return open_llm(model, seed=0, stopping=threading.Event()).complete([_QUESTION], key="doctor", observe=_unheard)
    settings = replace(settings_of(model), max_tokens=1, timeout_s=min(model.timeout_s, _TIMEOUT_S))
    llm = OpenAILLM(settings, stopping=threading.Event(), retry=RetryPolicy(tries=1))
    try:
        try:
            return llm.complete([_QUESTION], key="doctor", observe=lambda _: None)
        except CallFailed as failed:
            if failed.reason != "bad_request":
                raise
            # The server may know the token limit by its other name, which the client has taken up by now.
            return llm.complete([_QUESTION], key="doctor", observe=lambda _: None)
    finally:
        llm.close()


def _unheard(event: CallEvent) -> None:
    """Nobody is told of a call that is made to try."""


def _called(name: str, completion: Completion) -> Check:
    usage = completion.usage
    detail = f"answered after {usage.latency_s:.2f} s ({usage_text(usage)})"
    return Check(name=name, state=Finding.OK, detail=detail)
