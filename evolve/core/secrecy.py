"""Texts that look like a key: refused where they would be recorded, and never repeated. Pure.

A configuration is on record with the run. So a secret is named there, as an environment variable, and does not stand in
it: `api_key_env: NAME`, and `$NAME` in the value of a header or of a query. The validators of such values are here:
each returns the value, or raises ValueError with what it must be. No message repeats a value, for it may be a key.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
"""An environment variable in the value of a header or of a query."""

HIDDEN = "the value is not shown, since it may be a key"
NAME_IT = (
    "put a key into an environment variable: name it as api_key_env, or write $NAME as the whole value of a header or "
    "of a query (`Bearer $NAME`, `Basic $NAME` and the like are understood)"
)

_BEGINNINGS = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-|sk_|pk-|rk-|gsk_|xai-|AIza|hf_|ghp_|github_pat_|pplx-|r8_|nvapi-|fw_|csk-|tgp_v1_|eyJ)"
    r"[A-Za-z0-9_\-.]{12,}"
)
_RUN = re.compile(r"[A-Za-z0-9_+]{24,}={0,2}")
_NAME_OF_VARIABLE = re.compile("[A-Z_][A-Z0-9_]*|[A-Za-z_][A-Za-z0-9_]{0,19}")
_SECRET_VARIABLES = re.compile(r"(?:(?:^|_)(?:KEY|TOKEN|SECRET)|PASSWORD|PASSWD)$", re.IGNORECASE)
_SECRET_NAMES = re.compile(r"auth|key|token|secret|passw|cookie|credential|signature|^sig$|jwt", re.IGNORECASE)
"""Names of headers and of a query's fields that say that their value is a secret."""
_NAMED = re.compile(
    rf"(?:(?:api-?key|basic|bearer|bot|digest|dpop|key|negotiate|token)\s+)?(?:{VARIABLE.pattern})+", re.IGNORECASE
)
"""The value of a secret that is named: environment variables alone, or behind a scheme of HTTP."""


def secret_variables(names: Iterable[str]) -> list[str]:
    """Those of the names of environment variables that say that their value is a secret (`GITHUB_TOKEN`)."""
    return [name for name in names if _SECRET_VARIABLES.search(name) is not None]


def looks_like_a_key(text: str) -> bool:
    """Whether a text may hold a key: it begins like those of a provider (`sk-...`, `AIza...`) and is as long, or a word
    is a long run of letters and digits mixed."""
    begins = any(any(map(str.isdigit, match[0])) or len(match[0]) > 40 for match in _BEGINNINGS.finditer(text))
    return begins or any(map(_is_mixed, text.split()))


def _is_mixed(word: str) -> bool:
    """Whether letters and digits alternate often, as in random text. A name has its digits together."""
    if _RUN.fullmatch(word) is None:
        return False
    turns = sum(a.isdigit() != b.isdigit() for a, b in itertools.pairwise(word))
    return turns >= 6


def variables_in(values: Mapping[str, str]) -> list[str]:
    """The environment variables that the values of headers or of a query name, in order."""
    matches = (match for value in values.values() for match in VARIABLE.finditer(value))
    return list(dict.fromkeys(match[1] or match[2] for match in matches))


def texts_in(value: object) -> Iterator[str]:
    """Every text in a value of JSON, the names of its fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from texts_in(key)
            yield from texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)


def variable_of_key(value: Any) -> Any:
    """The name of the variable with the key; keys are longer, or not in capitals."""
    if value is not None and not (isinstance(value, str) and _NAME_OF_VARIABLE.fullmatch(value)):
        raise ValueError(
            "must be the NAME of an environment variable that holds the key, such as OPENAI_API_KEY (in capitals when "
            "it is longer than 20 characters)"
        )
    return value


def no_key(value: Any) -> Any:
    """A value of JSON none of whose texts looks like a key. (The words of a command are in the list of processes.)"""
    if any(map(looks_like_a_key, texts_in(value))):
        raise ValueError(f"holds what looks like a key; {NAME_IT}")
    return value


def no_literal_secret(value: Any) -> Any:
    """Names with texts, as of headers or a query, none of which holds a literal secret. Under a name like that of a
    secret, only environment variables are allowed: a `$` within a password makes no variable of its rest."""
    if not isinstance(value, dict) or not all(isinstance(text, str) for pair in value.items() for text in pair):
        raise ValueError("must map names to texts (quote numbers and dates)")
    for name, text in value.items():
        if looks_like_a_key(name):
            raise ValueError(f"one of them may hold a secret; {NAME_IT}")
        in_letters = text.strip() and not _NAMED.fullmatch(text.strip())
        if looks_like_a_key(VARIABLE.sub("", text)) or (in_letters and _SECRET_NAMES.search(name)):
            raise ValueError(f"{name!r} may hold a secret; {NAME_IT}")
    return value
