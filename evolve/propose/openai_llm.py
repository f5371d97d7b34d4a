"""Any OpenAI-compatible endpoint as an LLM.

One loop here makes the attempts, so that each is an event. A parameter that an endpoint refuses is adapted at
once, and from then on (`adapting`); that takes none of the tries.
"""

import json
import os
import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from evaluator.untrusted import one_line
from evolve.core.completion import (
    Adaptation,
    CallEvent,
    CallFailed,
    CallPhase,
    Completion,
    Message,
    Observer,
    OutputLengthEstimator,
    RequestKey,
    estimate_tokens,
)
from evolve.core.config import ModelConfig
from evolve.core.usage import Usage
from evolve.propose.adapting import LIMITS, ErrorBody, Parameters, adapted, context_length, parse_error_body, understood
from evolve.propose.attempt import Answer, Connection
from evolve.propose.endpoint import Secrets, endpoint_url, read_secrets
from evolve.propose.limiter import LeftAlone, Limiter
from evolve.propose.reply import Reply, listed_models
from evolve.propose.retry import ADVICE, Failure, RetryPolicy, Tries, reason_of_status, stated_wait
from evolve.propose.waking import WakingEvent

_SEVERAL = {"temperature": "temperature", "effort": "reasoning_effort"}
"""The settings that may be lists, with their fields."""
_FIRST_S = 5.0  # how long others wait at most for a request that goes first


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointKnowledge:
    """What a run knows of an endpoint and shares between its models: the `adaptations` of earlier sessions, the
    `limiter` of all the models behind it, and how long this model's answers are (`usual`)."""

    adaptations: Sequence[Adaptation] = ()
    limiter: Limiter = field(default_factory=Limiter)
    usual: OutputLengthEstimator | None = None


class OpenAILLM:
    """One model behind one endpoint. Thread-safe. The key lives in the connection and in nothing that is shown.

    `stopping` ends waits and calls in flight with CallFailed `cancelled`. `seed` and the request's key drive the
    jitter of the waits, and what is drawn of settings that are lists. Raises MachineError when a variable with a key is
    not set, InputError for an unusable URL or a key in the settings.
    """

    def __init__(
        self,
        settings: ModelConfig,
        *,
        stopping: WakingEvent,
        seed: int = 0,
        retry: RetryPolicy | None = None,
        known: EndpointKnowledge | None = None,
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        known = known or EndpointKnowledge()
        self.name = settings.shown_name
        self.settings = settings
        self._url = endpoint_url(settings)
        self._stopping = stopping
        self._seed = seed
        self._retry = retry or RetryPolicy()
        self._secrets: Secrets = read_secrets(settings, environ)
        self._connection = Connection(settings, self._url, self._secrets, stopping)
        self._known = tuple(one for one in known.adaptations if one.model == settings.shown_name)
        self._known_lock = threading.Lock()
        self._taken: set[str] = set()  # parameters that the endpoint took, each with its value
        self._first = threading.Condition()  # somebody goes first; or has, and what was learnt counts
        self._goes_first = False
        self._limiter = known.limiter
        self._usual = known.usual or OutputLengthEstimator(settings.max_tokens)
        self.close = self._connection.close

    def __repr__(self) -> str:
        return f"OpenAILLM({self.name!r})"

    @property
    def adaptations(self) -> tuple[Adaptation, ...]:
        """The changes to the configured parameters that the endpoint required, the oldest first."""
        return self._known

    def estimate_usd(self, tokens_in: int) -> float:
        """See LLM.estimate_usd; 0 for a model without prices."""
        return self.settings.cost(tokens_in, self._usual.tokens()) or 0.0

    def described(self) -> Mapping[str, Any]:
        """What the endpoint's list of models says of this one; empty where it keeps none, or this one is not in it."""
        answer = self._connection.models()
        listed = [] if isinstance(answer, Failure) or answer.status >= 300 else listed_models(answer.content)
        return next((model for model in listed if model.get("id") == self.settings.model), {})

    def complete(self, messages: Sequence[Message], *, key: RequestKey, observe: Observer) -> Completion:
        """See LLM.complete."""
        tokens_in = sum(estimate_tokens(message.content) for message in messages)
        self._connection.open()
        tell = partial(CallEvent, model=self.settings.model)
        parameters = wanted(
            self.settings,
            newer_limit=urlsplit(self._url).hostname == "api.openai.com",
            rng=random.Random(f"{self._seed}:{key}:sampling"),
        )
        tries, number, call = Tries(self._retry), self._limiter.number(), 0
        while True:
            rng = random.Random(f"{self._seed}:{key}:{call}:wait")
            sent_at = self._turn(number, call, observe, rng)
            with self._one_first(parameters) as sent:
                phase, drawn = CallPhase.CALLING, sampled(self.settings, sent)
                expected, limit_s = self._estimate(tokens_in), self.settings.timeout_s
                observe(tell(call=call, phase=phase, status=phase, usage=expected, sampled=drawn, limit_s=limit_s))
                began = time.monotonic()
                result = self._attempt(messages, sent, tokens_in)
                latency = time.monotonic() - began
                if isinstance(result, Reply):
                    self._taken |= _pairs(sent)
                else:
                    result = self._learnt(result, parameters, sent)
            if isinstance(result, Reply):
                done = self._completion(result, latency=latency, tokens_in=tokens_in)
                self._usual.note(done.usage.tokens_out)
                remark = "the server stated no usage, so tokens and cost are estimates" if done.usage.estimated else ""
                status, phase = done.finish_reason, CallPhase.ANSWERED
                observe(tell(call=call, phase=phase, status=status, http_status=200, usage=done.usage, message=remark))
                return done
            if result.reason == "rate_limited":
                self._limiter.refused(sent_at, wait_s=result.retry_after_s, chance=rng)
            wait_s = 0.0 if result.again else tries.again_after_s(result, rng)  # an adaptation takes no try
            observe(
                tell(
                    call=call,
                    phase=CallPhase.FAILED,
                    status=result.reason,
                    http_status=result.http_status,
                    usage=self._estimate(tokens_in, latency) if result.billed else Usage(latency_s=latency),
                    message=result.message,
                    adapted=result.adapted,
                    again_in_s=wait_s,
                    tries=tries.taken(result),
                )
            )
            call += 1
            if wait_s is None:
                raise self._call_failed(result, calls=call)
            if result.reason != "rate_limited":  # else it is the limiter that it waits for
                self._stopping.wait(wait_s)

    # -- when to ask --------------------------------------------------------------------------------------------

    def _turn(self, number: int, call: int, observe: Observer, rng: random.Random) -> float:
        """Wait for the limiter; when the request may be sent. One that was never refused itself fails like one that
        was, where the endpoint wants to be left alone for longer than anybody waits."""
        waiting = CallPhase.WAITING
        event = CallEvent(call=call, phase=waiting, status=waiting, model=self.settings.model)

        def held(left_s: float) -> None:
            self._require_time()
            observe(replace(event, again_in_s=left_s))

        try:
            sent_at = self._limiter.turn(
                number, chance=rng, held=held, patience_s=self._retry.patience_s, stopping=self._stopping
            )
        except LeftAlone as alone:
            message = f"not asked, since the endpoint wants to be left alone for {alone.args[0]:.0f} s more"
            raise self._call_failed(Failure(reason="rate_limited", message=message), calls=call) from None
        self._require_time()
        return sent_at

    def _require_time(self) -> None:
        if self._stopping.is_set():
            raise CallFailed("cancelled", f"model {self.settings.model!r}: not asked, since the run is ending")

    @contextmanager
    def _one_first(self, parameters: Parameters) -> Iterator[Parameters]:
        """The parameters to send now. Where the endpoint has not taken all of them yet, one request goes first, and the
        others wait for it, _FIRST_S at most: a refusal comes at once, and so it comes once. What was learnt while they
        waited counts."""

        def are_taken() -> bool:
            return _pairs(adapted(parameters, self._known)) <= self._taken

        with self._first:
            in_time = self._first.wait_for(lambda: are_taken() or not self._goes_first, timeout=_FIRST_S)
            sent = adapted(parameters, self._known)
            first = not (are_taken() or self._goes_first)
            self._goes_first |= first
            if not in_time:
                self._taken |= _pairs(sent)
        try:
            yield sent
        finally:
            if first:
                with self._first:
                    self._goes_first = False
                    self._first.notify_all()

    # -- one attempt --------------------------------------------------------------------------------------------

    def _attempt(self, messages: Sequence[Message], sent: Parameters, tokens_in: int) -> Reply | Failure:
        answer = self._connection.ask(sent["api"], *request(messages, sent))
        if isinstance(answer, Failure):
            return answer
        if answer.status < 300:
            tokens = tokens_in + self._usual.tokens()
            left = stated_wait(answer.headers, now=time.time(), refused=False, tokens=tokens)
            self._limiter.answered(nothing_left_s=left)
            return self._read(answer)
        if answer.status < 400:  # it is not followed: the key and the prompt would go to its place
            place = one_line(self._secrets.struck(answer.headers.get("location", "")), 300)
            message = f"HTTP {answer.status}: the server redirects to {place!r}, and no redirect is followed"
            return Failure(reason="not_found", message=message, http_status=answer.status)
        failure = self._refused(answer.status, parse_error_body(answer.error), answer)
        unread = f" (its body was not read: {answer.unread})" if answer.unread else ""
        return replace(failure, message=failure.message + unread)

    def _read(self, answer: Answer) -> Reply | Failure:
        page = answer.content.lstrip().startswith(b"<")  # of a proxy: no model has generated anything
        bad = Failure(reason="bad_response", message="", http_status=answer.status, billed=not page)
        if answer.unread:
            return replace(bad, message=f"the answer was not read: {answer.unread}")
        fault = answer.reply
        assert fault is not None
        if isinstance(fault, Reply):
            return fault
        if fault.error_body.status is not None and fault.error_body.status < 500:
            return self._refused(fault.error_body.status, fault.error_body, answer)
        return replace(bad, message=self._secrets.struck(str(fault)), error_body=fault.error_body)

    def _refused(self, status: int, error: ErrorBody, answer: Answer) -> Failure:
        """An HTTP error, or one that came with another status."""
        reason = reason_of_status(status, error.code)
        line = replace(error, text=self._secrets.struck(error.text)).line
        return Failure(
            reason=reason,
            message=f"HTTP {status}{f': {line}' if line else ''}",
            http_status=answer.status,
            retry_after_s=stated_wait(answer.headers, now=time.time(), refused=True),
            error_body=error,
        )

    def _learnt(self, failure: Failure, parameters: Parameters, sent: Parameters) -> Failure:
        """The failure with what follows from it for this request and all later ones, should the endpoint have refused
        something of what was sent. Another thread may have found out first; then this request, too, goes again."""
        if failure.error_body is None:
            return failure
        status = failure.error_body.status or failure.http_status or 200
        with self._known_lock:
            learnt = {(each.parameter, each.value) for each in self._known}
            adaptations = understood(failure.error_body, status, sent=sent, known=self._known, model=self.name)
            new = tuple(each for each in adaptations if (each.parameter, each.value) not in learnt)
            self._known += new
            if not adaptations or adapted(parameters, self._known) == sent:
                return failure
        return replace(failure, adapted=new, again=True, billed=False)

    def _completion(self, reply: Reply, *, latency: float, tokens_in: int) -> Completion:
        stated_in = tokens_in if reply.tokens_in is None else reply.tokens_in
        stated_out = estimate_tokens(reply.text) if reply.tokens_out is None else reply.tokens_out
        cached = min(reply.tokens_cached, stated_in)
        usage = Usage(
            tokens_in=stated_in,
            tokens_out=stated_out,
            tokens_cached=cached,
            cost_usd=self.settings.cost(stated_in, stated_out, tokens_cached=cached),
            latency_s=latency,
            estimated=reply.tokens_in is None or reply.tokens_out is None,
        )
        text, reasoning = self._secrets.struck(reply.text), self._secrets.struck(reply.reasoning)
        return Completion(text=text, finish_reason=reply.finish_reason, usage=usage, reasoning=reasoning)

    def _estimate(self, tokens_in: int, latency_s: float = 0.0) -> Usage:
        """What a call took, or will take, as far as we can say without its answer."""
        tokens_out = self._usual.tokens()
        cost = self.settings.cost(tokens_in, tokens_out)
        return Usage(tokens_in=tokens_in, tokens_out=tokens_out, cost_usd=cost, latency_s=latency_s, estimated=True)

    def _call_failed(self, failure: Failure, *, calls: int) -> CallFailed:
        after = f" (after {calls} attempts)" if calls > 1 else ""
        advice = ADVICE[failure.reason].format(variable=self.settings.api_key_env)
        if failure.reason == "auth" and self.settings.api_key_env is None:
            advice = "the server wants a key; name the environment variable that holds it as api_key_env"
        if failure.error_body is not None and context_length(failure.error_body) is not None:
            advice = "lower the run's prompt_tokens, or the model's max_tokens"
        place = "" if self._url in failure.message else f" at {self._url}"
        return CallFailed(failure.reason, f"model {self.settings.model!r}{place}: {failure.message}{after}; {advice}")


def _pairs(sent: Parameters) -> set[str]:
    """Each parameter with its value, as something that can be compared."""
    return {json.dumps([name, value], sort_keys=True, default=str) for name, value in sent.items()}


def wanted(settings: ModelConfig, *, newer_limit: bool, rng: random.Random) -> Parameters:
    """The parameters of a request as they are configured, before anything is adapted. One value is drawn where there
    are several, the temperature first. `newer_limit`: the limit is called max_completion_tokens."""
    fields = {
        "temperature": _drawn(settings.temperature, rng),
        "reasoning_effort": _drawn(settings.effort, rng),
        "top_p": settings.top_p,
        LIMITS[newer_limit]: settings.max_tokens,
    }
    parameters = {"api": settings.api, "stream": settings.stream} | fields
    return {name: value for name, value in parameters.items() if value is not None} | dict(settings.extra_body)


def sampled(settings: ModelConfig, sent: Parameters) -> dict[str, float | str]:
    """What was drawn for a request, by the name of the setting, as it is sent."""
    several = [name for name in _SEVERAL if isinstance(getattr(settings, name), list | tuple)]
    return {name: sent[_SEVERAL[name]] for name in several if _SEVERAL[name] in sent}


def request(messages: Sequence[Message], sent: Parameters) -> tuple[dict[str, Any], dict[str, Any]]:
    """The conversation, under the name that it has at the API that is asked, and all other fields but the model. The
    parameters have their names in chat completions; the Responses API calls some otherwise."""
    turns = [{"role": message.role, "content": message.content} for message in messages]
    fields = {name: value for name, value in sent.items() if name not in ("api", "stream")}
    fields |= {"stream": True} if sent["stream"] else {}
    if sent["api"] == "chat":
        return {"messages": turns}, fields
    fields.pop("stream_options", None)
    for limit in LIMITS:
        if limit in fields:
            fields["max_output_tokens"] = fields.pop(limit)
    if "reasoning_effort" in fields:
        own = fields.get("reasoning")
        fields["reasoning"] = (own if isinstance(own, dict) else {}) | {"effort": fields.pop("reasoning_effort")}
    return {"input": turns}, fields


def _drawn(value: Any, rng: random.Random) -> Any:
    return rng.choice(value) if isinstance(value, list | tuple) else value
