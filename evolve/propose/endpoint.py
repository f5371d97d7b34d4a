"""Where a model is reached and with which secrets: checked before anything is sent. No secret is ever shown."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus, urlsplit

from evaluator.untrusted import one_line
from evolve.core.config import ModelConfig
from evolve.core.errors import InputError, MachineError
from evolve.core.prices import OPENAI_URL, host_of
from evolve.core.secrecy import HIDDEN, NAME_IT, VARIABLE, texts_in, variables_in

SHORTEST_SECRET = 8  # a shorter "key" is a placeholder such as EMPTY, and striking it would garble texts
_STRUCK = "[key removed]"
_LOGGERS = ("openai", "openai._base_client", "openai._response", "openai._legacy_response", "httpx", "httpx2")


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """What a request is sent with that comes from the environment: `key` ("" for none), and `headers` and `query` with
    the variables in them put in. `values` are the secrets themselves, as they might be repeated."""

    key: str = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    query: Mapping[str, str] = field(repr=False)
    values: tuple[str, ...] = field(repr=False)

    def struck(self, text: str) -> str:
        """A text without them."""
        for value in self.values:
            text = text.replace(value, _STRUCK)
        return text

    def struck_bytes(self, body: bytes) -> bytes:
        """The body of an answer without them."""
        for value in self.values:
            body = body.replace(value.encode(), _STRUCK.encode())
        return body

    def keep_out_of_logs(self) -> None:
        """Strike them from what the SDK and its transport log, if somebody switches that on: they log headers and URLs.
        Tracebacks are left out, whose errors repeat URLs."""

        def strike(record: logging.LogRecord) -> bool:
            record.exc_info = record.exc_text = None
            record.msg, record.args = self.struck(record.getMessage()), ()
            return True

        for name in _LOGGERS if self.values else ():
            logging.getLogger(name).addFilter(strike)


def read_secrets(settings: ModelConfig, environ: Mapping[str, str]) -> Secrets:
    """The key and what else a model's settings name of the environment. Raises MachineError naming a variable that is
    not set, never its value, and InputError for a secret that stands in the settings themselves."""
    key = "" if settings.api_key_env is None else _value_of(settings.api_key_env, settings, environ)
    named = {
        name: _value_of(name, settings, environ)
        for name in variables_in(settings.headers) + variables_in(settings.query)
    }
    secrets = [value for value in dict.fromkeys([key, *named.values()]) if len(value) >= SHORTEST_SECRET]
    for place, text in _literals(settings):
        if any(value in text for value in secrets):
            whose = "a model" if place == "name" else f"model '{one_line(settings.shown_name)}'"
            raise InputError(f"{whose}: {place} holds the value of one of its secrets; {NAME_IT}; {HIDDEN}")
    forms = {form for value in secrets for form in (value, quote(value, safe=""), quote(value), quote_plus(value))}
    return Secrets(
        key=key,
        headers=_filled(settings.headers, named),
        query=_filled(settings.query, named),
        values=tuple(sorted(forms, key=lambda form: (-len(form), form))),
    )


def _filled(values: Mapping[str, str], named: Mapping[str, str]) -> dict[str, str]:
    return {name: VARIABLE.sub(lambda found: named[found[1] or found[2]], text) for name, text in values.items()}


def _literals(settings: ModelConfig) -> Iterator[tuple[str, str]]:
    """Every text of the settings that is written down with the run, with its key. The name comes first: a message
    about any other one says it."""
    places = ("name", "model", "base_url", "headers", "query", "effort", "extra_body", "api_key_env")
    for place in places:
        yield from ((place, text) for text in texts_in(getattr(settings, place)))


def _value_of(variable: str, settings: ModelConfig, environ: Mapping[str, str]) -> str:
    """The value of an environment variable that a model needs. Raises MachineError."""
    key = environ.get(variable, "").strip()
    if not key:
        instead = "take it out of the model's headers and query"
        if variable == settings.api_key_env:
            instead = "set the model's api_key_env to null for a server that wants no key"
        raise MachineError(
            f"model {settings.shown_name!r} needs a key: the environment variable {variable} is not set; "
            f"set it (export {variable}=...), or {instead}"
        )
    if not (key.isascii() and key.isprintable()):
        raise MachineError(
            f"the environment variable {variable} holds characters that no key has (a line break, or not ASCII); "
            "set it again"
        )
    return key


def endpoint_url(settings: ModelConfig) -> str:
    """The endpoint's URL. Raises InputError when it is none, or when it would give a secret away."""
    url = OPENAI_URL if settings.base_url is None else settings.base_url.strip()
    host_of(url, name=settings.shown_name)
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query:
        raise InputError(
            f"model {settings.shown_name!r}: base_url holds a user name, password or query, which would be written "
            "down with the configuration; put the key into an environment variable and name that one as api_key_env; "
            "what is no secret of a query (api-version) belongs into `query`"
        )
    return url
