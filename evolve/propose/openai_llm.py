"""Any OpenAI-compatible endpoint as an LLM; the only importer of the `openai` package.

The SDK's own retries are off: one loop here makes the attempts, so that each is an event. What an endpoint refuses of a
request is asked otherwise at once, and from then on (`adapting`); that takes none of the tries.
"""

import os
import random
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from evaluator.untrusted import one_line
from evolve.completion import (
    Adaptation,
    CallEvent,
    CallFailed,
    CallPhase,
    Completion,
    FailureReason,
    Message,
    Observer,
    RequestKey,
    UsualOutput,
    estimate_tokens,
)
from evolve.config import ModelConfig
from evolve.propose.adapting import Parameters, Said, adapted, said_in_body, understood
from evolve.propose.ahead import OneAhead
from evolve.propose.attempt import BODY_LIMIT, ENCODING, Attempt, Body, ErrorAnswer, raise_for_error, transport_errors
from evolve.propose.endpoint import Secrets, endpoint_url, read_secrets
from evolve.propose.limiter import LeftAlone, Limiter
from evolve.propose.parameters import request, sampled, wanted
from evolve.propose.reply import Reply, Unreadable, listed_models, read_reply
from evolve.propose.retry import (
    ADVICE,
    Failure,
    RetryPolicy,
    Tries,
    reason_of_status,
    redirected,
    stated_wait,
    worth_retrying,
)
from evolve.usage import Usage

_NO_KEY = "none"  # what the SDK is given for a server that wants no key: it refuses to have none, and sends none

_LIST_S = 20.0  # seconds that are waited for a list of models

_NOTHING_SENT = {"ConnectError", "ConnectTimeout", "PoolTimeout"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointKnowledge:
    """What a run knows of an endpoint and shares between its models: the `adaptations` of earlier sessions, the
    `limiter` of all the models behind it, and how long this model's answers are (`usual`)."""

    adaptations: Sequence[Adaptation] = ()
    limiter: Limiter = field(default_factory=Limiter)
    usual: UsualOutput | None = None


class OpenAILLM:
    """One model behind one endpoint. Thread-safe. The key lives in the SDK's client and in nothing that is shown.

    `stopping` ends waits and calls in flight with CallFailed `cancelled`. `seed` and the request's key drive the
    jitter of the waits, and what is drawn of settings that are lists. Raises MachineError when a variable with a key is
    not set, InputError for an unusable URL or a key in the settings.
    """

    def __init__(
        self,
        settings: ModelConfig,
        *,
        stopping: threading.Event,
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
        self._ahead = OneAhead(stopping)
        self._known = tuple(one for one in known.adaptations if one.model == settings.shown_name)
        self._known_lock = threading.Lock()
        self._limiter = known.limiter
        self._usual = known.usual or UsualOutput(settings.max_tokens)
        self._client: Any = None
        self._client_lock = threading.Lock()

    def __repr__(self) -> str:
        return f"OpenAILLM({self.name!r})"

    @property
    def adaptations(self) -> tuple[Adaptation, ...]:
        """What is asked otherwise than it was configured, in the order in which it was found."""
        return self._known

    def estimate_usd(self, tokens_in: int) -> float:
        """See LLM.estimate_usd; 0 for a model without prices."""
        return self.settings.cost(tokens_in, self._usual.tokens()) or 0.0

    def complete(self, messages: Sequence[Message], *, key: RequestKey, observe: Observer) -> Completion:
        """See LLM.complete."""
        tokens_in = sum(estimate_tokens(message.content) for message in messages)
        tokens_out = self._usual.tokens()
        self._connect()  # importing the SDK takes a second, which is not part of any deadline
        parameters = self._wanted(messages, key)
        tries, number, call = Tries(self._retry), self._limiter.number(), 0
        while True:
            rng = random.Random(f"{self._seed}:{key}:{call}:wait")
            sent_at = self._turn(number, call, observe, rng)
            with self._ahead.take(lambda: adapted(parameters, self._known)) as turn:
                observe(
                    CallEvent(
                        call=call,
                        phase=CallPhase.CALLING,
                        status=CallPhase.CALLING,
                        model=self.settings.model,
                        usage=self._estimate(tokens_in, tokens_out),
                        sampled=sampled(self.settings, turn.sent),
                    )
                )
                began = time.monotonic()
                result = self._attempt(messages, turn.sent, began=began, tokens_in=tokens_in)
                latency = time.monotonic() - began
                if isinstance(result, Completion):
                    turn.taken = True
                else:
                    result = self._learnt(result, parameters, turn.sent)
            if isinstance(result, Completion):
                self._usual.note(result.usage.tokens_out)
                observe(self._answered(call, result))
                return result
            if result.reason == "rate_limited":
                self._limiter.refused(sent_at, wait_s=result.retry_after_s, chance=rng)
            wait_s = 0.0 if result.again else self._again_after(tries, result, rng)  # an adaptation takes no try
            observe(self._failed(call, result, tokens_in, latency, wait_s=wait_s))
            call += 1
            if wait_s is None:
                raise self._call_failed(result, calls=call)
            if result.reason != "rate_limited":  # else it is the limiter that it waits for
                self._stopping.wait(wait_s)

    def _again_after(self, tries: Tries, failure: Failure, rng: random.Random) -> float | None:
        if not failure.retry:
            return None
        now, stated = time.monotonic(), failure.retry_after_s
        return tries.again_after_s(failure.reason, now=now, retry_after_s=stated, rng=rng)

    def _turn(self, number: int, call: int, observe: Observer, rng: random.Random) -> float:
        """Wait for the limiter; when the request may be sent. One that was never refused itself fails like one that
        was, where the endpoint wants to be left alone for longer than anybody waits."""
        held = partial(self._held, call, observe)
        try:
            sent_at = self._limiter.turn(number, chance=rng, held=held, patience_s=self._retry.patience_s)
        except LeftAlone as alone:
            message = f"not asked, since the endpoint wants to be left alone for {alone.wait_s:.0f} s more"
            raise self._call_failed(Failure(reason="rate_limited", message=message), calls=call) from None
        self._check_running()
        return sent_at

    def _held(self, call: int, observe: Observer) -> None:
        """Told while a request waits for its turn."""
        self._check_running()
        observe(CallEvent(call=call, phase=CallPhase.WAITING, status=CallPhase.WAITING, model=self.settings.model))

    def described(self) -> Mapping[str, Any]:
        """What the endpoint's list of models says of this one; empty where it keeps none, or this one is not in it."""
        client, extra_headers = self._connect(), self._without_key()
        ask = partial(client.models.with_streaming_response.list, extra_headers=extra_headers)
        deadline = time.monotonic() + min(self.settings.timeout_s, _LIST_S)
        outcome = Attempt(ask, limit=BODY_LIMIT).outcome(deadline=deadline, stopping=self._stopping)
        if isinstance(outcome, BaseException):
            self._understand(outcome)  # raises what is no answer of a server
        listed = listed_models(outcome.content) if isinstance(outcome, Body) else []
        return next((one for one in listed if one.get("id") == self.settings.model), {})

    def close(self) -> None:
        """Close idle connections. Calls in flight are not waited for."""
        with self._client_lock:
            if self._client is not None:
                self._client.close()
                self._client = None

    # -- one attempt --------------------------------------------------------------------------------------------

    def _attempt(
        self, messages: Sequence[Message], sent: Parameters, *, began: float, tokens_in: int
    ) -> Completion | Failure:
        attempt = Attempt(partial(self._ask, messages, sent), limit=BODY_LIMIT)
        outcome = attempt.outcome(deadline=began + self.settings.timeout_s, stopping=self._stopping)
        if outcome == "cancelled":
            return self._lost("cancelled", "given up, since the run is ending")
        if outcome == "timeout":
            return self._lost("timeout", f"no whole answer within {self.settings.timeout_s:g} s", retry=True)
        if isinstance(outcome, Body):
            tokens = tokens_in + self._usual.tokens()
            left = stated_wait(outcome.headers, now=time.time(), refused=False, tokens=tokens)
            self._limiter.answered(nothing_left_s=left)
            return self._read(outcome, latency=time.monotonic() - began, tokens_in=tokens_in)
        assert isinstance(outcome, BaseException)
        return self._understand(outcome)

    def _wanted(self, messages: Sequence[Message], key: RequestKey) -> Parameters:
        rng = random.Random(f"{self._seed}:{key}:sampling")
        newer_limit = urlsplit(self._url).hostname == "api.openai.com"
        return wanted(self.settings, messages, newer_limit=newer_limit, rng=rng)

    def _ask(self, messages: Sequence[Message], sent: Parameters) -> AbstractContextManager[Any]:
        """Open the answer to a request."""
        client = self._connect()
        conversation, fields = request(messages, sent)
        api = client.responses if sent["api"] == "responses" else client.chat.completions
        opened: AbstractContextManager[Any] = api.with_streaming_response.create(
            model=self.settings.model, **conversation, extra_body=fields, extra_headers=self._without_key()
        )
        return opened

    def _without_key(self) -> dict[str, Any]:
        """No key is sent where none is configured, unless a header of the model's own holds it."""
        import openai

        if self._secrets.key or any(name.lower() == "authorization" for name in self._secrets.headers):
            return {}
        return {"Authorization": openai.Omit()}

    def _connect(self) -> Any:
        with self._client_lock:
            if self._client is None:
                import openai

                # base_url is always stated: the SDK would otherwise take one from the environment, and send the
                # key to it.
                secrets = self._secrets
                self._client = openai.OpenAI(
                    api_key=secrets.key or _NO_KEY,
                    base_url=self._url,
                    default_headers={"Accept-Encoding": ENCODING} | dict(secrets.headers),
                    default_query=dict(secrets.query),
                    max_retries=0,
                    timeout=self.settings.timeout_s,
                    http_client=openai.DefaultHttpxClient(
                        follow_redirects=False, event_hooks={"response": [raise_for_error]}
                    ),
                )
                secrets.keep_out_of_logs()
            return self._client

    def _read(self, body: Body, *, latency: float, tokens_in: int) -> Completion | Failure:
        if body.unread:
            return self._lost("bad_response", f"the answer was not read: {body.unread}", retry=True, http=body.status)
        reply = read_reply(self._secrets.struck_bytes(body.content))
        if not isinstance(reply, Unreadable):
            return self._completion(reply, latency=latency, tokens_in=tokens_in)
        if reply.said is not None and reply.said.status is not None and reply.said.status < 500:
            return self._refused(reply.said.status, reply.said, body.headers, http=200)
        return replace(self._lost("bad_response", reply.message, retry=True, http=200), said=reply.said)

    def _completion(self, reply: Reply, *, latency: float, tokens_in: int) -> Completion:
        estimated = reply.tokens_in is None or reply.tokens_out is None
        stated_in = tokens_in if reply.tokens_in is None else reply.tokens_in
        stated_out = estimate_tokens(reply.text) if reply.tokens_out is None else reply.tokens_out
        cached = min(reply.tokens_cached, stated_in)
        usage = Usage(
            tokens_in=stated_in,
            tokens_out=stated_out,
            tokens_cached=cached,
            cost_usd=self.settings.cost(stated_in, stated_out, tokens_cached=cached),
            latency_s=latency,
            estimated=estimated,
        )
        return Completion(
            text=self._secrets.struck(reply.text),
            finish_reason=reply.finish_reason,
            usage=usage,
            reasoning=self._secrets.struck(reply.reasoning),
        )

    def _estimate(self, tokens_in: int, tokens_out: int, *, latency_s: float = 0.0) -> Usage:
        """What a call took, or will take, as far as we can say without its answer."""
        return Usage(
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            cost_usd=self.settings.cost(tokens_in, tokens_out),
            latency_s=latency_s,
            estimated=True,
        )

    def _answered(self, call: int, completion: Completion) -> CallEvent:
        return CallEvent(
            call=call,
            phase=CallPhase.ANSWERED,
            status=completion.finish_reason,
            model=self.settings.model,
            http_status=200,
            usage=completion.usage,
            message="the server stated no usage, so tokens and cost are estimates"
            if completion.usage.estimated
            else "",
        )

    # -- failures -----------------------------------------------------------------------------------------------

    def _understand(self, cause: BaseException) -> Failure:
        """What an exception of the SDK means; any other one is raised as it is."""
        import openai

        if isinstance(error := cause.__cause__ or cause, ErrorAnswer):  # some versions of the SDK wrap it
            return self._error(error.body)
        transport = transport_errors(cause)
        if isinstance(cause, openai.APITimeoutError) or "TimeoutException" in transport:
            return self._lost("timeout", f"no answer within {self.settings.timeout_s:g} s", retry=True)
        if isinstance(cause, openai.APIConnectionError) or transport & {"RequestError", "StreamError"}:
            inner = cause.__cause__ or cause
            detail = one_line(self._secrets.struck(str(inner)) or type(inner).__name__)
            if transport & _NOTHING_SENT:
                return Failure(reason="connection", message=f"no connection ({detail})", retry=True)
            return self._lost("connection", f"the connection broke off ({detail})", retry=True)
        raise cause

    def _error(self, body: Body) -> Failure:
        """An answer that is no success. A redirect is not followed: the key and the prompt would go to its place."""
        if body.status < 400:
            place = one_line(self._secrets.struck(body.headers.get("location", "")), 300)
            return redirected(body.status, place)
        failure = self._refused(body.status, said_in_body(self._secrets.struck_bytes(body.content)), body.headers)
        unread = f" (its body was not read: {body.unread})" if body.unread else ""
        return replace(failure, message=failure.message + unread)

    def _refused(self, status: int, said: Said, headers: Mapping[str, str], *, http: int | None = None) -> Failure:
        """An HTTP error, or one that came with another status (`http`)."""
        reason = reason_of_status(status, said.code)
        line = replace(said, text=self._secrets.struck(said.text)).line
        return Failure(
            reason=reason,
            message=f"HTTP {status}{f': {line}' if line else ''}",
            http_status=http or status,
            retry_after_s=stated_wait(headers, now=time.time(), refused=True),
            retry=worth_retrying(reason),
            said=said,
        )

    def _learnt(self, failure: Failure, parameters: Parameters, sent: Parameters) -> Failure:
        """The failure with what follows from it for this request and all later ones, should the endpoint have refused
        something of what was sent. Another thread may have found out first; then this request, too, goes again."""
        if failure.said is None:
            return failure
        status = failure.said.status or failure.http_status or 200
        with self._known_lock:
            known = {(one.parameter, one.value) for one in self._known}
            found = understood(failure.said, status, sent=sent, known=self._known, model=self.name)
            new = tuple(one for one in found if (one.parameter, one.value) not in known)
            self._known += new
            if not found or adapted(parameters, self._known) == sent:
                return failure
        return replace(failure, adapted=new, again=True, billed_out=None)

    def _lost(self, reason: FailureReason, message: str, *, retry: bool = False, http: int | None = None) -> Failure:
        """A request that the server may have worked on, and will bill, without our having its answer."""
        billed = self._usual.tokens()
        return Failure(
            reason=reason, message=self._secrets.struck(message), http_status=http, billed_out=billed, retry=retry
        )

    def _failed(
        self, call: int, failure: Failure, tokens_in: int, latency: float, *, wait_s: float | None
    ) -> CallEvent:
        usage = Usage(latency_s=latency)
        if failure.billed_out is not None:
            usage = self._estimate(tokens_in, failure.billed_out, latency_s=latency)
        again = "" if wait_s is None else f"; asking again in {wait_s:.1f} s"
        if failure.again:
            again = "".join(f"; {one}" for one in failure.adapted) + "; asking again at once"
        return CallEvent(
            call=call,
            phase=CallPhase.FAILED,
            status=failure.reason,
            model=self.settings.model,
            http_status=failure.http_status,
            usage=usage,
            message=failure.message + again,
            adapted=failure.adapted,
        )

    def _call_failed(self, failure: Failure, *, calls: int) -> CallFailed:
        after = f" (after {calls} attempts)" if calls > 1 else ""
        return CallFailed(
            failure.reason,
            f"model {self.settings.model!r} at {self._url}: {failure.message}{after}; " + self._advice(failure.reason),
        )

    def _advice(self, reason: FailureReason) -> str:
        if reason != "auth":
            return ADVICE[reason]
        variable = self.settings.api_key_env
        if variable is None:
            return "the server wants a key; name the environment variable that holds it as api_key_env"
        return f"check the key in the environment variable {variable}"

    def _check_running(self) -> None:
        if self._stopping.is_set():
            raise CallFailed("cancelled", f"model {self.settings.model!r}: not asked, since the run is ending")
