"""What may stand in the settings of a model: each function gives back the value, or raises ValueError with what it must
be. No message repeats a value, for it may be a key."""

import json
import re
from typing import Any

from evolve.secrecy import NAME_IT, begins_like_a_key, literal_secret, looks_like_a_key, texts_in

_HEADER = re.compile("[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}").fullmatch
_VARIABLE = re.compile("[A-Z_][A-Z0-9_]*|[A-Za-z_][A-Za-z0-9_]{0,19}").fullmatch
_EFFORT = re.compile("[a-z]{1,20}").fullmatch
_OWN_FIELDS = (
    "model",
    "messages",
    "input",
    "stream",
    "temperature",
    "top_p",
    "max_tokens",
    "reasoning_effort",
    "api",
    "role",
)


def variable_of_key(value: Any) -> Any:
    """The name of the variable with the key: no key is as short, and none is all capitals."""
    if value is not None and not (isinstance(value, str) and _VARIABLE(value)):
        raise ValueError(
            "must be the NAME of an environment variable that holds the key, such as OPENAI_API_KEY (in capitals when "
            "it is longer than 20 characters)"
        )
    return value


def no_key(value: Any) -> Any:
    """A text that is no key."""
    if isinstance(value, str) and looks_like_a_key(value):
        raise ValueError(f"looks like a key; {NAME_IT}")
    return value


def no_key_in_url(value: Any) -> Any:
    """A URL without a key in it."""
    if isinstance(value, str) and begins_like_a_key(value):
        raise ValueError(f"holds what looks like a key; {NAME_IT}")
    return value


def no_key_in_command(value: Any) -> Any:
    """A command none of whose words is a key: its arguments are in the list of processes."""
    if isinstance(value, list) and any(map(looks_like_a_key, texts_in(value))):
        raise ValueError(f"holds what looks like a key; {NAME_IT}")
    return value


def no_literal_secret(value: Any) -> Any:
    """Names with texts, none of which is a secret."""
    if not isinstance(value, dict) or not all(isinstance(text, str) for pair in value.items() for text in pair):
        raise ValueError("must map names to texts (quote numbers and dates)")
    name = literal_secret(value)
    if name is not None:
        where = "one of them" if looks_like_a_key(name) else repr(name)
        raise ValueError(f"{where} may hold a secret; {NAME_IT}")
    return value


def sendable_headers(value: Any) -> Any:
    """What can be sent as headers, without a secret."""
    checked = no_literal_secret(value)
    if not all(_HEADER(name) and text.isascii() and text.isprintable() for name, text in checked.items()):
        raise ValueError("must map names of headers to texts in printable ASCII")
    return checked


def fields_of_json(value: Any) -> Any:
    """Fields that can be sent, none of which is sent already, without a key."""
    if not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        raise ValueError("must map names to values")
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        raise ValueError("must be JSON: numbers that are finite, texts (quote dates), lists, mappings") from None
    own = next((name for name in value if name in _OWN_FIELDS), None)
    if own is not None:
        raise ValueError(f"{own!r} is sent already, or is a setting of its own")
    if any(map(looks_like_a_key, texts_in(value))):
        raise ValueError(f"holds what looks like a key; {NAME_IT}")
    return value


def temperatures(value: Any) -> Any:
    """A temperature, several, or none."""
    several = value if isinstance(value, list) else [value]
    if value is not None and not (several and all(type(one) in (int, float) and 0 <= one < 1e3 for one in several)):
        raise ValueError("must be a number of 0 or more, or a list of such to draw from")
    return value


def efforts(value: Any) -> Any:
    """An effort, several, or none."""
    several = value if isinstance(value, list) else [value]
    if value is not None and not (several and all(isinstance(one, str) and _EFFORT(one) for one in several)):
        raise ValueError("must be a word such as low or high, or a list of such to draw from")
    return value
