"""Whether a configured model does what a run needs of it: asked the first question of a run, and only when the person
wants it."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaluator.untrusted import one_line
from evolve.completion import USUAL_TOKENS_OUT, Adaptation, CallEvent, CallFailed, Completion
from evolve.config import Config, ModelConfig
from evolve.doctor.first_question import FirstQuestion, first_question
from evolve.doctor.machine import Check, Finding
from evolve.errors import InputError, MachineError
from evolve.opening import open_llm
from evolve.propose.adapting import LIMITS, context_length
from evolve.propose.limiter import Limiters
from evolve.propose.openai_llm import OpenAILLM
from evolve.propose.said import Said
from evolve.review.calls import usage_text
from evolve.seams import LLM

_CONTEXTS = (
    "max_model_len",  # vLLM
    "context_length",  # OpenRouter, Together
    "context_window",  # Groq
    "max_context_length",  # Mistral
    "n_ctx",  # llama.cpp
    "n_ctx_train",
    "max_input_tokens",
)
_SETTINGS = {"reasoning_effort": "effort", **dict.fromkeys(LIMITS, "max_tokens")}


@dataclass(slots=True)
class _Asked:
    """What was seen while a model was asked."""

    answer: Completion
    events: list[CallEvent] = field(default_factory=list)
    adaptations: Sequence[Adaptation] = ()
    context: int | None = None


def check_models(config: Config, models: Sequence[ModelConfig]) -> list[Check]:
    """What each model can, told one by one. Raises InputError, TaskError, SandboxError for the task's."""
    asked = [model for model in models if model.script is None or model.client is not None]
    if not asked:
        return [_script(config, model) for model in models]
    with first_question(config, asked[0].shown_name) as question:
        found = [_checks(config, model, question) if model in asked else [_script(config, model)] for model in models]
    return [check for checks in found for check in checks]


def _script(config: Config, model: ModelConfig) -> Check:
    try:
        _opened(config, model)
    except InputError as wrong:
        detail = "not asked: its settings are wrong"
        return Check(name=_name(model), state=Finding.BROKEN, detail=detail, fix=str(wrong))
    return Check(name=_name(model), state=Finding.OK, detail=f"{model.script} can be read")


def _checks(config: Config, model: ModelConfig, question: FirstQuestion) -> list[Check]:
    name = _name(model)
    try:
        llm = _opened(config, model)
    except MachineError as lacking:
        return [Check(name=name, state=Finding.ABSENT, detail="not asked: it lacks its key", fix=str(lacking))]
    except InputError as wrong:
        return [Check(name=name, state=Finding.BROKEN, detail="not asked: its settings are wrong", fix=str(wrong))]
    events: list[CallEvent] = []
    try:
        asked = _ask(llm, question, events)
    except CallFailed as failed:
        unreached = Check(name=name, state=Finding.BROKEN, detail=f"no answer: {failed.reason}", fix=str(failed))
        stated = context_length(Said(text=" ".join(event.message for event in events)))
        return [unreached, *([] if stated is None else [_context(name, config, model, stated)])]
    usage = asked.answer.usage
    detail = f"answered after {usage.latency_s:.2f} s ({usage_text(usage)})"
    return [
        Check(name=name, state=Finding.OK, detail=detail),
        _parameters(name, model, asked.adaptations),
        _usage(name, asked.answer),
        _context(name, config, model, asked.context),
        _patch(name, question, asked.answer),
        _cost(name, asked),
    ]


def _opened(config: Config, model: ModelConfig) -> LLM:
    keys = config.key_variables
    return open_llm(model, seed=config.seed, stopping=threading.Event(), limiters=Limiters(), keys=keys)


def _ask(llm: LLM, question: FirstQuestion, events: list[CallEvent]) -> _Asked:
    try:
        answer = question.put(llm, events.append)
        if not isinstance(llm, OpenAILLM):
            return _Asked(answer, events)
        context = _stated_context(llm.described())
        if context is None:
            context = context_length(Said(text=" ".join(event.message for event in events)))
        return _Asked(answer, events, llm.adaptations, context)
    finally:
        if isinstance(llm, OpenAILLM):
            llm.close()


def _parameters(name: str, model: ModelConfig, adaptations: Sequence[Adaptation]) -> Check:
    """Which of the settings that are sent the endpoint takes, and what to write into the configuration for others."""
    sent = {
        key: value
        for key, value in [
            ("temperature", model.temperature),
            ("top_p", model.top_p),
            ("effort", model.effort),
            ("max_tokens", model.max_tokens),
            *model.extra_body.items(),
        ]
        if value is not None
    }
    refused = {_SETTINGS.get(one.parameter, one.parameter) for one in adaptations if one.change != "renamed"}
    taken = ", ".join(f"{key} {value}" for key, value in sent.items() if key not in refused)
    told = [f"takes {taken}" if taken else "takes none of those configured" if sent else "none is configured"]
    if adaptations:
        told.append("asked otherwise: " + ", ".join(map(str, adaptations)))
    settings = wanted_settings(model, adaptations)
    return Check(name=f"{name}: parameters", state=Finding.OK, detail=one_line("; ".join(told), 600), settings=settings)


def wanted_settings(model: ModelConfig, adaptations: Sequence[Adaptation]) -> dict[str, Any]:
    """The settings of a model under which its endpoint refuses nothing. What has no setting (another name of the limit)
    is found anew by each run."""
    found: dict[str, Any] = {}
    for one in adaptations:
        key = _SETTINGS.get(one.parameter, one.parameter)
        if one.change == "renamed" or key in ("stream_options", "role"):
            continue
        if key in model.extra_body:
            body = found.setdefault("extra_body", dict(model.extra_body))
            del body[key]
            continue
        before = found.get(key, getattr(model, key))
        if isinstance(before, list):
            others = [value for value in before if one.value is not None and value != one.value]
            found[key] = list(dict.fromkeys([*others, *([one.to] if one.change == "replaced" else [])])) or None
        else:
            found[key] = one.to
    return found


def _usage(name: str, answer: Completion) -> Check:
    if not answer.usage.estimated:
        return Check(name=f"{name}: usage", state=Finding.OK, detail="reported")
    return Check(
        name=f"{name}: usage",
        state=Finding.ABSENT,
        detail="not reported, so tokens and cost are estimates",
        fix="nothing to do; a budget is kept by estimates, four characters a token",
        needed=False,
    )


def _context(name: str, config: Config, model: ModelConfig, context: int | None) -> Check:
    """Whether the longest prompt that a run may send fits with its answer."""
    name = f"{name}: context"
    answer = USUAL_TOKENS_OUT if model.max_tokens is None else model.max_tokens
    needed = config.prompt_tokens + answer
    longest = f"the longest prompt and its answer may take {needed:,} ({config.prompt_tokens:,} + {answer:,})"
    if context is None:
        return Check(name=name, state=Finding.OK, detail=f"not stated; {longest}", needed=False)
    if needed <= context:
        return Check(name=name, state=Finding.OK, detail=f"{context:,} tokens; {longest}")
    room = context - answer
    settings = {"prompt_tokens": room} if room >= Config.model_fields["prompt_tokens"].metadata[0].ge else {}
    fix = "shorten what is sent (prompt_tokens), or the answer (max_tokens)"
    detail = f"{context:,} tokens, and {longest}"
    return Check(name=name, state=Finding.BROKEN, detail=detail, fix=fix, needed=False, settings=settings)


def _patch(name: str, question: FirstQuestion, answer: Completion) -> Check:
    problem = question.unusable(answer)
    if problem is None:
        detail = "its answer to the first prompt of a run is a patch that applies"
        return Check(name=f"{name}: patch", state=Finding.OK, detail=detail)
    return Check(
        name=f"{name}: patch",
        state=Finding.BROKEN,
        detail=f"its answer to the first prompt of a run cannot be used: {one_line(problem, 300)}",
        fix="ask again, for chance is in it; if it was cut off, raise max_tokens; else use a more capable model",
    )


def _cost(name: str, asked: _Asked) -> Check:
    spent = [event.usage.cost_usd for event in asked.events if event.phase != "calling"]
    if None in spent:
        fix = "give it price_in and price_out (USD per million tokens), which a budget wants"
        return Check(name=f"{name}: cost", state=Finding.ABSENT, detail="price unknown", fix=fix, needed=False)
    total = sum(cost for cost in spent if cost is not None)
    return Check(name=f"{name}: cost", state=Finding.OK, detail=f"{total:.6f} USD for this question")


def _stated_context(description: Mapping[str, Any]) -> int | None:
    """The tokens of a model's context, as the list of models of its endpoint states them."""
    meta = description.get("meta")
    places = [description, meta if isinstance(meta, dict) else {}]
    stated = (place.get(key) for key in _CONTEXTS for place in places)
    return next((value for value in stated if type(value) is int and value > 0), None)


def _name(model: ModelConfig) -> str:
    return f"model {one_line(model.shown_name, 60)}"
