"""Configuration for the eyes of others: where things lie on this machine is nothing that they need to know."""

import re
from collections.abc import Mapping
from typing import Any, Final

_VALUE: Final = re.compile(r"((?:[A-Za-z_.]+:)?)/(?!/)(?:[^\n]*/)?([^/\n]+)/?")
"""A text that is a path, maybe with a word before it that says what lies there (`scripted:/home/me/answers.yaml`)."""
_MODEL: Final = re.compile(r"(scripted:)/(?:[^\n]*/)?([^/\n]+)")
_QUOTED: Final = re.compile(rf'"{_VALUE.pattern}"'.replace(r"\n", r'"\n'))
_WITHIN: Final = re.compile(r"""(?<![\w.~/…-])/(?!/)(?:[^\s/'"`,;:()\[\]{}<>|]+/)+([^\s/'"`,;:()\[\]{}<>|]*)""")


def without_paths(value: Any) -> Any:
    """The value with each absolute path in its texts as its last part, `…/answers.yaml`. An address (`https://...`) and
    a relative path stay as they are."""
    if isinstance(value, str):
        if whole := _VALUE.fullmatch(value):
            return _last(whole)
        return _WITHIN.sub(r"…/\1", _QUOTED.sub(lambda found: f'"{_last(found)}"', value))
    if isinstance(value, Mapping):
        return {key: without_paths(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_paths(each) for each in value]
    return value


def without_model_paths(value: Any) -> Any:
    """The value with each text that is the name of a scripted model, and nothing else, without the path in it."""
    if isinstance(value, str):
        whole = _MODEL.fullmatch(value)
        return value if whole is None else _last(whole)
    if isinstance(value, Mapping):
        return {key: without_model_paths(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_model_paths(each) for each in value]
    return value


def _last(found: re.Match[str]) -> str:
    return f"{found[1]}…/{found[2]}"
