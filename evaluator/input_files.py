"""Reads documents by types: a person's file by a pydantic model, where each mistake is a sentence with key and value;
our own records by the types of a dataclass."""

import contextlib
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, PlainValidator, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from evaluator.untrusted import one_line
from evaluator.yaml_file import line_of, nearest

Location = tuple[int | str, ...]

_MOST_SHOWN: Final = 10
_TYPES: Final = {
    "string_type": "must be text",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping",
    "invalid_key": "is no text, as every key must be",
}


class Section(BaseModel):
    """A mapping of known keys: unknown keys are mistakes, types are strict, numbers finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


S = TypeVar("S", bound=Section)
Value = TypeVar("Value")


def checked(
    kind: type[S],
    document: Mapping[str, Any],
    origin: str | Path,
    error: type[Exception],
    *,
    hides: Callable[[Location, object], str | None] = lambda _, __: None,
    elsewhere: tuple[str, ...] = (),
    context: object = None,
) -> S:
    """`document` as a value of `kind`. `origin` is its name in messages: the path of a YAML file.

    `hides` gives the words that replace a value that no message may repeat. `elsewhere` are keys of other places, to
    suggest for an unknown one. `context` is for the model. Raises `error` for all mistakes together.
    """
    try:
        return kind.model_validate(document, context=context)
    except ValidationError as invalid:
        mistakes = invalid.errors(include_url=False)
    sentences = dict.fromkeys(_sentence(kind, mistake, hides, elsewhere) for mistake in mistakes)
    shown = "; ".join([*sentences][:_MOST_SHOWN])
    more = f"; and {len(sentences) - _MOST_SHOWN} more mistakes" if len(sentences) > _MOST_SHOWN else ""
    raise error(f"{place(origin, dotted(mistakes[0]['loc']))}: {shown}{more}")


def place(origin: str | Path, key: str) -> str:
    """The file, and the line of a key."""
    line = line_of(origin, key) if isinstance(origin, Path) else None
    return str(origin) if line is None else f"{origin} line {line}"


def dotted(location: Location) -> str:
    """A location as a key on one line: `suites.five.best_known[0]`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location if part != "[key]")
    return one_line("".join(parts).removeprefix("."), 160)


def matching(pattern: str, words: str) -> AfterValidator:
    """A text that a pattern matches as a whole; `words` say what it must be."""
    compiled = re.compile(pattern, re.ASCII)

    def check(text: str) -> str:
        if not compiled.fullmatch(text):
            raise ValueError(f"must be {words}")
        return text

    return AfterValidator(check)


def number(value: object) -> int | float:
    """A finite number; an integer stays one."""
    if type(value) not in (int, float) or not -float("inf") < value < float("inf"):  # type: ignore[operator]
        raise ValueError("must be a finite number")
    return value  # type: ignore[return-value]


def _exact(text: Any) -> Fraction:
    """The exact number of a file's number or text ('3/7')."""
    if type(text) in (int, float, str):
        with contextlib.suppress(ValueError, ArithmeticError):
            float(exact := Fraction(text))
            return exact
    raise ValueError("must be a finite number, or a fraction such as '3/7'")


AsText = Annotated[str, PlainValidator(str)]
"""Any value, as text."""
Exact = Annotated[Fraction, PlainValidator(_exact)]


def _sentence(
    kind: type[BaseModel],
    error: Mapping[str, Any],
    hides: Callable[[Location, object], str | None],
    elsewhere: tuple[str, ...],
) -> str:
    location, mistake, value = error["loc"], error["type"], error["input"]
    key = dotted(location)
    if mistake == "missing":
        meaning = _fields(kind, location[:-1])[str(location[-1])].description
        return f"{key} is missing ({meaning})" if meaning else f"{key} is missing"
    if mistake == "extra_forbidden":
        hidden = hides(location, None)
        if hidden is not None:
            return f"{dotted(location[:-1])}: an unknown key; {hidden}"
        keys = [dotted((*location[:-1], name)) for name in _fields(kind, location[:-1])]
        return f"unknown key {key!r}{nearest(key, dict.fromkeys([*keys, *elsewhere]))}"
    message = error["msg"].removeprefix("Value error, ").partition(" after validation")[0]
    message = _TYPES.get(mistake) or re.sub(r"^\w+ should ", "must ", message)
    if not location:  # about several keys together
        return message
    hidden = hides(location, value)
    if hidden is not None:
        return f"{key}: {message}; {hidden}"
    if mistake == "value_error" and value and isinstance(value, dict):
        return f"{key}: {message}"
    shown = repr(value) if len(repr(value)) <= 80 else f"{repr(value)[:80]}..."
    quote = " (quote it)" if mistake == "string_type" and isinstance(value, int | float) else ""
    return f"{key}: {message}, not {one_line(shown)}{quote}"


def _fields(kind: Any, location: Location) -> dict[str, FieldInfo]:
    """The fields of a section, by their names in a file."""
    for part in location:
        is_section = isinstance(kind, type) and issubclass(kind, BaseModel)
        kind = _inner(kind.model_fields[part].annotation if is_section else get_args(kind)[-1])
    return {field.alias or name: field for name, field in kind.model_fields.items()}


def _inner(kind: Any) -> Any:
    """A type without `Annotated` and without `None`."""
    if hasattr(kind, "__metadata__"):
        return _inner(kind.__origin__)
    members = [member for member in get_args(kind) if member is not type(None)]
    return _inner(members[0]) if type(None) in get_args(kind) else kind


def read_as(kind: type[Value], record: object) -> Value:
    """The dataclass in a record, its fields by name. Raises ValueError for a record of another shape."""
    value: Value = _reader(kind).validate_python(record)  # type: ignore[arg-type] # a class can be hashed
    return value


@cache
def _reader(kind: type) -> Any:
    return TypeAdapter(kind)
