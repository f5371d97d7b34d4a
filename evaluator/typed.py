"""Reading the JSON of a value by the types of its class: what a record holds, a frozen dataclass is made of."""

from functools import cache
from typing import Any, TypeVar

from pydantic import TypeAdapter

Value = TypeVar("Value")


def read_as(kind: type[Value], record: object) -> Value:
    """The value of a dataclass that a record holds, its fields by name. Raises ValueError for a record of another
    shape."""
    value: Value = _reader(kind).validate_python(record)  # type: ignore[arg-type] # a class can be hashed
    return value


@cache
def _reader(kind: type) -> Any:
    return TypeAdapter(kind)
