"""Checks whether a configured model can serve a run, with the first question of a run; only on request."""

import contextlib
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluator.check import Check, Finding
from evaluator.task import Task
from evaluator.task_files import load_task
from evaluator.untrusted import one_line
from evolve.core.completion import USUAL_TOKENS_OUT, Adaptation, CallEvent, CallFailed, CallPhase, Completion, Observer
from evolve.core.config import Config, ModelConfig
from evolve.core.errors import InputError, MachineError, PatchError
from evolve.evaluation.beginning import begin_archive, judge_initial
from evolve.evaluation.evaluators import open_evaluators
from evolve.opening import initial_files, open_llm
from evolve.proposal import Request, SearchSettings
from evolve.propose.adapting import LIMITS, ErrorBody, context_length
from evolve.propose.building import build_program
from evolve.propose.limiter import Limiters
from evolve.propose.llm_proposer import LLMProposer
from evolve.propose.openai_llm import OpenAILLM
from evolve.propose.prompts import Prompts
from evolve.propose.requests import Requests, fitting
from evolve.propose.waking import WakingEvent
from evolve.review.calls import usage_text
from evolve.seams import LLM
from evolve.search.strategies import open_search, recall

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _FirstQuestion:
    """A task with its initial program scored, and the first request of a run for it."""

    task: Task
    request: Request
    prompts: Prompts

    def put(self, llm: LLM, observe: Observer) -> Completion:
        """The model's answer to the question. Raises CallFailed."""
        proposer = LLMProposer(llm, self.prompts)
        request, prompt = fitting(proposer, self.request)
        return proposer.answer(request, prompt, observe)

    def unusable(self, answer: Completion) -> str | None:
        """Why an answer makes no new program; None if it makes one."""
        parent = self.request.parent
        try:
            build_program(
                answer,
                kind=self.request.kind,
                parent=parent.program.files,
                parent_works=parent.evaluation.correct,
                task=self.task,
                known=lambda _: None,
            )
        except PatchError as refused:
            return f"{refused.reason}: {refused}"
        return None


@contextmanager
def _first_question(config: Config, name: str) -> Iterator[_FirstQuestion]:
    """The first question of a run with that model only. The initial program is scored for it, and nothing is left on
    the disk. Raises InputError, TaskError, SandboxError."""
    task = load_task(config.task)
    program = initial_files(config, task)
    with (
        tempfile.TemporaryDirectory(prefix="evolve-doctor-") as folder,
        open_evaluators(task, config.suite, workers=1, control=program, seed=config.seed) as evaluators,
    ):
        initial = judge_initial(config, program, evaluators)
        with begin_archive(Path(folder) / "run", config, program, initial, evaluators) as archive:
            shares, kinds = {name: 1.0}, {name: LLMProposer.kinds}
            settings = SearchSettings(config=config.search, seed=config.seed, shares=shares, kinds=kinds)
            search = open_search(settings)
            recall(search, archive.reader.history())
            requests = Requests(archive.reader, seed=config.seed, elites=config.search.elites)
            request = requests.make(1, 0, search.choose(1), [], None)
            prompts = Prompts(
                task=task,
                suite=evaluators.evaluator.suite,
                folder=None if config.prompts_dir is None else Path(config.prompts_dir),
                max_tokens=config.prompt_tokens,
            )
            yield _FirstQuestion(task=task, request=request, prompts=prompts)


def check_models(config: Config) -> list[Check]:
    """The checks of each model of a configuration. Raises InputError, TaskError, SandboxError for the task."""
    first = next((model for model in config.models if _can_be_asked(model)), None)
    with contextlib.nullcontext() if first is None else _first_question(config, first.shown_name) as question:
        return [check for model in config.models for check in _checks(config, model, question)]


def _can_be_asked(model: ModelConfig) -> bool:
    """Whether the model is more than a file of answers."""
    return model.script is None or model.client is not None


def _checks(config: Config, model: ModelConfig, question: _FirstQuestion | None) -> list[Check]:
    name = f"model {one_line(model.shown_name, 60)}"
    stopping, keys = WakingEvent(), config.key_variables
    try:
        llm = open_llm(model, seed=config.seed, stopping=stopping, limiters=Limiters(), keys=keys)
    except MachineError as lacking:
        return [Check(name, Finding.ABSENT, "not asked: its key is missing", str(lacking))]
    except InputError as wrong:
        return [Check(name, Finding.BROKEN, "not asked: its settings are wrong", str(wrong))]
    if question is None or not _can_be_asked(model):
        return [Check(name, Finding.OK, f"{model.script} can be read")]
    events: list[CallEvent] = []
    context: int | None = None
    adaptations: Sequence[Adaptation] = ()
    try:
        answer = question.put(llm, events.append)
        if isinstance(llm, OpenAILLM):
            context, adaptations = _stated_context(llm.described()), llm.adaptations
    except CallFailed as failed:
        unreached = Check(name, Finding.BROKEN, f"no answer: {failed.reason}", str(failed))
        context = _context_in(events)
        return [unreached, *([] if context is None else [_context(name, config, model, context)])]
    finally:
        if isinstance(llm, OpenAILLM):
            llm.close()
    return [
        Check(name, Finding.OK, f"answered after {answer.usage.latency_s:.2f} s ({usage_text(answer.usage)})"),
        _parameters(name, model, adaptations),
        _usage(name, answer),
        _context(name, config, model, _context_in(events) if context is None else context),
        _patch(name, question, answer),
        _cost(name, events),
    ]


def _parameters(name: str, model: ModelConfig, adaptations: Sequence[Adaptation]) -> Check:
    """Which settings the endpoint accepts, and the configuration that replaces the others."""
    own = [(key, getattr(model, key)) for key in ("temperature", "top_p", "effort", "max_tokens")]
    sent = {key: value for key, value in [*own, *model.extra_body.items()] if value is not None}
    changed = [adaptation.parameter for adaptation in adaptations if adaptation.change != "renamed"]
    refused = {_SETTINGS.get(parameter, parameter) for parameter in changed}
    taken = ", ".join(f"{key} {value}" for key, value in sent.items() if key not in refused)
    parts = [f"accepts {taken}" if taken else "accepts none of those configured" if sent else "none is configured"]
    if adaptations:
        parts.append("adapted: " + ", ".join(map(str, adaptations)))
    settings = wanted_settings(model, adaptations)
    return Check(f"{name}: parameters", Finding.OK, one_line("; ".join(parts), 600), settings=settings)


def wanted_settings(model: ModelConfig, adaptations: Sequence[Adaptation]) -> dict[str, Any]:
    """The settings of a model that its endpoint accepts in full. An adaptation without a setting (another name of the
    token limit) is found again by each run."""
    settings: dict[str, Any] = {}
    for adaptation in adaptations:
        key = _SETTINGS.get(adaptation.parameter, adaptation.parameter)
        if adaptation.change == "renamed" or key == "stream_options":
            continue
        if key in model.extra_body:
            body = settings.setdefault("extra_body", dict(model.extra_body))
            del body[key]
            continue
        before = settings.get(key, getattr(model, key))
        if isinstance(before, list):
            accepted = [value for value in before if adaptation.value is not None and value != adaptation.value]
            settings[key] = (
                list(dict.fromkeys([*accepted, *([adaptation.to] if adaptation.change == "replaced" else [])])) or None
            )
        else:
            settings[key] = adaptation.to
    return settings


def _usage(name: str, answer: Completion) -> Check:
    name = f"{name}: usage"
    if not answer.usage.estimated:
        return Check(name, Finding.OK, "reported")
    fix = "nothing to do; a budget counts estimates of four characters a token"
    return Check(name, Finding.ABSENT, "not reported, so tokens and cost are estimates", fix, needed=False)


def _context(name: str, config: Config, model: ModelConfig, context: int | None) -> Check:
    """Whether the longest prompt of a run fits into the context with its answer."""
    name = f"{name}: context"
    answer = USUAL_TOKENS_OUT if model.max_tokens is None else model.max_tokens
    needed = config.prompt_tokens + answer
    longest = f"the longest prompt and its answer may take {needed:,} ({config.prompt_tokens:,} + {answer:,})"
    if context is None:
        return Check(name, Finding.OK, f"not stated; {longest}", needed=False)
    if needed <= context:
        return Check(name, Finding.OK, f"{context:,} tokens; {longest}")
    room = context - answer
    settings = {"prompt_tokens": room} if room >= Config.model_fields["prompt_tokens"].metadata[0].ge else {}
    fix = "shorten the prompt (prompt_tokens) or the answer (max_tokens)"
    detail = f"{context:,} tokens, and {longest}"
    return Check(name, Finding.BROKEN, detail, fix, needed=False, settings=settings)


def _patch(name: str, question: _FirstQuestion, answer: Completion) -> Check:
    name = f"{name}: patch"
    problem = question.unusable(answer)
    if problem is None:
        return Check(name, Finding.OK, "its answer to the first prompt of a run is a patch that applies")
    detail = f"its answer to the first prompt of a run cannot be used: {one_line(problem, 300)}"
    fix = "try again, since answers vary; if it was cut off, raise max_tokens; else use a more capable model"
    return Check(name, Finding.BROKEN, detail, fix)


def _cost(name: str, events: Sequence[CallEvent]) -> Check:
    name = f"{name}: cost"
    spent = [event.usage.cost_usd for event in events if event.phase != CallPhase.CALLING]
    if None in spent:
        fix = "set price_in and price_out (USD per million tokens); a budget needs them"
        return Check(name, Finding.ABSENT, "price unknown", fix, needed=False)
    return Check(name, Finding.OK, f"{sum(cost for cost in spent if cost is not None):.6f} USD for this question")


def _stated_context(description: Mapping[str, Any]) -> int | None:
    """The context length in tokens that the endpoint's list of models states."""
    meta = description.get("meta")
    places = [description, meta if isinstance(meta, dict) else {}]
    stated = (place.get(key) for key in _CONTEXTS for place in places)
    return next((value for value in stated if type(value) is int and value > 0), None)


def _context_in(events: Sequence[CallEvent]) -> int | None:
    """The context length in tokens that a refusal states."""
    return context_length(ErrorBody(text=" ".join(event.message for event in events)))
