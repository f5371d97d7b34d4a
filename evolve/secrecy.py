"""What looks like a key: refused where it would be written down, and never repeated. Pure.

A configuration is on record with the run. So a secret is named there, as an environment variable, and does not stand in
it: `api_key_env: NAME`, and `$NAME` in the value of a header or of a query.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping

VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
"""An environment variable in the value of a header or of a query."""

HIDDEN = "what stands there is not repeated, for it may be a key"
NAME_IT = (
    "a key belongs into an environment variable: name it as api_key_env, or write $NAME in the value of a header or "
    "of a query, the whole of it (`Bearer $NAME`, `Basic $NAME` and the like are understood)"
)

_BEGINNINGS = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-|sk_|pk-|rk-|gsk_|xai-|AIza|hf_|ghp_|github_pat_|pplx-|r8_|nvapi-|fw_|csk-|tgp_v1_|eyJ)"
    r"[A-Za-z0-9_\-.]{12,}"
)
_RUN = re.compile(r"[A-Za-z0-9_+]{24,}={0,2}")
_SECRET_NAMES = re.compile(r"auth|key|token|secret|passw|cookie|credential|signature|^sig$|jwt", re.IGNORECASE)

_SECRET_VARIABLES = re.compile(r"(?:(?:^|_)(?:KEY|TOKEN|SECRET)|PASSWORD|PASSWD)$", re.IGNORECASE)


def secret_variables(names: Iterable[str]) -> list[str]:
    """Those of the names of environment variables that say that their value is a secret (`GITHUB_TOKEN`)."""
    return [name for name in names if _SECRET_VARIABLES.search(name) is not None]


_NAMED = re.compile(
    rf"(?:(?:api-?key|basic|bearer|bot|digest|dpop|key|negotiate|token)\s+)?(?:{VARIABLE.pattern})+", re.IGNORECASE
)
"""The value of a secret that is named: environment variables alone, or behind a scheme of HTTP."""


def begins_like_a_key(text: str) -> bool:
    """Whether something in a text begins as the keys of a provider do (`sk-...`, `AIza...`) and is as long."""
    return any(any(map(str.isdigit, found[0])) or len(found[0]) > 40 for found in _BEGINNINGS.finditer(text))


def looks_like_a_key(text: str) -> bool:
    """Whether a text holds what looks like a key: it begins like one, or is a long run of letters and digits mixed."""
    return begins_like_a_key(text) or any(map(_is_mixed, text.split()))


def _is_mixed(word: str) -> bool:
    """Letters and digits, mixed as chance would: they take turns often. A name has its digits together."""
    if _RUN.fullmatch(word) is None:
        return False
    turns = sum(a.isdigit() != b.isdigit() for a, b in itertools.pairwise(word))
    return turns >= 6


def named_like_a_secret(name: str) -> bool:
    """Whether the name of a header or of a query's field says that its value is a secret."""
    return _SECRET_NAMES.search(name) is not None


def variables_in(values: Mapping[str, str]) -> list[str]:
    """The environment variables that the values of headers or of a query name, in order."""
    found = (match for value in values.values() for match in VARIABLE.finditer(value))
    return list(dict.fromkeys(match[1] or match[2] for match in found))


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


def literal_secret(values: Mapping[str, str]) -> str | None:
    """The first name in headers or a query whose value may hold a secret in letters; None where none does. Under a name
    like that of a secret any letter may be one: a `$` within a password makes no variable of its rest."""
    for name, value in values.items():
        literal = VARIABLE.sub("", value)
        if looks_like_a_key(literal) or looks_like_a_key(name):
            return name
        if named_like_a_secret(name) and value.strip() and _NAMED.fullmatch(value.strip()) is None:
            return name
    return None
