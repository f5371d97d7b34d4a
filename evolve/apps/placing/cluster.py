"""The file of a cluster to place models on (docs/placing.md).

    gpus: {count: 16, memory_gb: 80}
    models:
      - {name: chat, size_gb: 26.5, rate: 12, slo: 8}       weights in GB, requests per second, latency target
    current: {chat: 3}                                       optional: the present GPU (from 0) of each model

Numbers are exact: 0.1 is a tenth. The unit of `slo` is free, but the same for all models.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, PlainValidator

from evaluator.input_files import Section, checked, matching, place
from evaluator.places import PROGRAMS
from evaluator.untrusted import one_line
from evaluator.yaml_file import nearest, read_mapping
from evolve.core.errors import InputError

MOST_GPUS: Final = 20_000
MOST_MODELS: Final = 20_000
_LARGEST: Final = 10**12  # of any number: beyond it, it is a slip of the pen
_DECIMALS: Final = 10**9
_EXPONENT: Final = re.compile(r"[0-9.]+[eE][-+]?[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """A model to serve: size in GB, rate in requests per second, latency target."""

    name: str
    size: Fraction
    rate: Fraction
    slo: Fraction

    @property
    def load(self) -> Fraction:
        """Its share of the load of its GPU."""
        return self.rate / self.slo


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Identical GPUs of `memory` GB each, the models for them, and the present GPU of each model (None: on none)."""

    gpus: int
    memory: Fraction
    models: tuple[ServedModel, ...]
    current: tuple[int | None, ...] | None


def _exact(value: object) -> Fraction:
    """The exact value of a written number above 0."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _LARGEST:  # NaN is neither
        # YAML reads 1e3 as a text: a number with an exponent needs a point and a sign.
        plain = " (write it without an exponent, or as 1.0e+3)" if _EXPONENT.fullmatch(str(value)) else ""
        raise ValueError(f"must be a number above 0 and at most 10^12{plain}")
    number = Fraction(repr(value))
    if number.denominator > _DECIMALS:
        raise ValueError("must have at most nine decimal places")
    return number


def _of_one_size(gpus: Any) -> Any:
    if not (isinstance(gpus, dict) and gpus):
        raise ValueError(
            "must be one mapping, as in gpus: {count: 16, memory_gb: 80}, since programs know only one memory size; "
            "for GPUs of several sizes write a file for each size, with its models"
        )
    return gpus


_Exact = Annotated[Fraction, PlainValidator(_exact)]


class _Gpus(Section):
    count: int = Field(ge=1, le=MOST_GPUS)
    memory_gb: _Exact = Field(description="GB of each GPU")


class _ClusterModel(Section):
    name: Annotated[str, matching(r"[\s\S]*\S[\s\S]*", "a name")]
    size_gb: _Exact = Field(description="GB of weights")
    rate: _Exact = Field(description="requests per second")
    slo: _Exact = Field(description="a latency target")


class _ClusterFile(Section):
    gpus: Annotated[_Gpus, BeforeValidator(_of_one_size)] = Field(description="count and memory_gb")
    models: list[_ClusterModel] = Field(
        min_length=1, max_length=MOST_MODELS, description="a list: name, size_gb, rate, slo"
    )
    current: dict[str, int] | None = None


def cluster_file(named: Path) -> Path:
    """The file of a cluster, by path or by the name of a shipped one. Raises InputError if there is neither."""
    shipped = {path.stem: path for path in sorted((PROGRAMS / "placement" / "clusters").glob("*.yaml"))}
    if named.exists() or named.is_symlink():
        return named
    if str(named) in shipped:
        return shipped[str(named)]
    raise InputError(f"{one_line(str(named))}: is neither a file nor a shipped cluster ({', '.join(shipped)})")


def read_cluster(path: Path) -> Cluster:
    """The cluster in a file. Raises InputError with the file, the key and the value if it cannot be read, has a wrong
    value, or cannot hold its models."""
    file = checked(_ClusterFile, read_mapping(path, error=InputError), path, InputError)
    places: dict[str, int] = {}
    for number, model in enumerate(file.models):
        if places.setdefault(model.name, number) != number:
            key, first = f"models[{number}].name", f"models[{places[model.name]}]"
            name = one_line(model.name, 60)
            raise InputError(
                f"{place(path, key)}: {key}: {name!r} is also the name of {first}; give each replica its own name"
            )
    models = tuple(ServedModel(name=m.name, size=m.size_gb, rate=m.rate, slo=m.slo) for m in file.models)
    gpus, memory = file.gpus.count, file.gpus.memory_gb
    _fits(path, gpus, memory, models)
    current = None if file.current is None else _current(path, file.current, places, gpus)
    return Cluster(gpus=gpus, memory=memory, models=models, current=current)


def _fits(path: Path, gpus: int, memory: Fraction, models: Sequence[ServedModel]) -> None:
    """Raise InputError if the sizes rule out every placement."""
    largest = max(models, key=lambda model: model.size)
    if largest.size >= memory:
        raise InputError(
            f"{path}: model '{one_line(largest.name, 60)}' has {shown_gb(largest.size)} and a GPU has "
            f"{shown_gb(memory)}: it fits on none, since some memory must stay free for its cache"
        )
    needed = sum((model.size for model in models), Fraction(0))
    if needed >= gpus * memory:
        raise InputError(
            f"{path}: the models need {shown_gb(needed)}, and {gpus} GPUs of {shown_gb(memory)} have "
            f"{shown_gb(gpus * memory)}: use more GPUs or fewer models"
        )


def _current(path: Path, current: Mapping[str, int], names: Collection[str], gpus: int) -> tuple[int | None, ...]:
    for name, gpu in current.items():
        key, shown = f"current.{name}", one_line(name, 60)
        if name not in names:
            raise InputError(
                f"{place(path, key)}: current: there is no model {shown!r}{nearest(name, [*names][:1000])}"
            )
        if not 0 <= gpu < gpus:
            raise InputError(f"{place(path, key)}: current.{shown}: must be a GPU from 0 to {gpus - 1}, not {gpu}")
    return tuple(current.get(name) for name in names)


def shown_gb(size: Fraction) -> str:
    """`26.5 GB`."""
    return f"{float(size):.6g} GB"
