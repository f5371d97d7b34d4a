"""Where a model is reached and with which key: checked before anything is sent. The key is never shown."""

import math
from collections.abc import Mapping
from urllib.parse import urlsplit

from evaluator.untrusted import one_line
from evolve.completion import ModelSettings
from evolve.errors import InputError, MachineError

OPENAI_URL = "https://api.openai.com/v1"


def read_key(settings: ModelSettings, environ: Mapping[str, str]) -> str:
    """The key, or "" for a model that needs none. Raises MachineError naming the variable, never its value."""
    variable = settings.api_key_env
    if variable is None:
        return ""
    key = environ.get(variable, "").strip()
    if not key:
        raise MachineError(
            f"model {settings.name!r} needs a key: the environment variable {variable} is not set; "
            f"set it (export {variable}=...), or set the model's api_key_env to null for a server that wants no key"
        )
    if not (key.isascii() and key.isprintable()):
        raise MachineError(
            f"the environment variable {variable} holds characters that no key has (a line break, or not ASCII); "
            "set it again"
        )
    return key


def endpoint_url(settings: ModelSettings) -> str:
    """The endpoint's URL. Raises InputError when it is none, or when it would give a secret away."""
    url = OPENAI_URL if settings.base_url is None else settings.base_url.strip()
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InputError(
            f"model {settings.name!r}: base_url {one_line(url)!r} is not a URL such as http://localhost:8000/v1"
        )
    if parts.username or parts.password or parts.query:
        raise InputError(
            f"model {settings.name!r}: base_url holds a user name, password or query, which would be written down with "
            "the configuration; put the key into an environment variable and name that one as api_key_env"
        )
    return url


def check_timeout(settings: ModelSettings) -> None:
    """Raise InputError unless the timeout is a number of seconds."""
    if not (settings.timeout_s > 0 and math.isfinite(settings.timeout_s)):
        raise InputError(f"model {settings.name!r}: timeout_s is {settings.timeout_s}; it must be a number above 0")
