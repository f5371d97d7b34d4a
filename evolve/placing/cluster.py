"""A cluster to place models on, as a person writes it down (docs/placing.md).

    gpus: {count: 16, memory_gb: 80}
    models:
      - {name: chat, size_gb: 26.5, rate: 12, slo: 8}       weights in GB, requests per second, latency target
    current: {chat: 3}                                       optional: the GPU (from 0) that each model is on now

Numbers are taken as they are written: 0.1 is a tenth. The unit of `slo` is the user's, the same for all models.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from evaluator.untrusted import one_line
from evaluator.yaml_file import nearest, read_mapping
from evolve.errors import InputError

MOST_GPUS: Final = 20_000
MOST_MODELS: Final = 20_000
_LARGEST: Final = 10**12  # of any number: beyond it, it is a slip of the pen
_DECIMALS: Final = 10**9
_EXPONENT: Final = re.compile(r"[0-9.]+[eE][-+]?[0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """A model to serve: GB, requests per second, latency target."""

    name: str
    size: Fraction
    rate: Fraction
    slo: Fraction

    @property
    def load(self) -> Fraction:
        """What it adds to the load of its GPU."""
        return self.rate / self.slo


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Identical GPUs of `memory` GB each, the models for them, and the GPU of each model now (None: it is on none)."""

    gpus: int
    memory: Fraction
    models: tuple[ServedModel, ...]
    current: tuple[int | None, ...] | None


def read_cluster(path: Path) -> Cluster:
    """The cluster in a file. Raises InputError for one that cannot be read, says what is not meant here, or cannot hold
    its models, in one sentence that names the file, the key and the value."""
    document = read_mapping(path, error=InputError)
    _known(f"{path}", document, ("gpus", "models", "current"))
    gpus, memory = _gpus(path, document.get("gpus"))
    models = _models(path, document.get("models"))
    _fits(path, gpus, memory, models)
    return Cluster(gpus=gpus, memory=memory, models=models, current=_current(path, document, models, gpus))


def _gpus(path: Path, entry: Any) -> tuple[int, Fraction]:
    where = f"{path}: gpus"
    if isinstance(entry, list):
        sizes = {str(one.get("memory_gb")) for one in entry if isinstance(one, dict)}
        if len(sizes) == 1:
            raise InputError(f"{where}: must be one mapping and no list, as in gpus: {{count: 16, memory_gb: 80}}")
        raise InputError(
            f"{where}: GPUs of {len(sizes) if len(sizes) > 1 else 'several'} sizes cannot be placed on together, as "
            "the programs know one memory size; write one file for each size, with the models that go there"
        )
    if not isinstance(entry, dict):
        raise InputError(f"{where}: must say count and memory_gb, as in gpus: {{count: 16, memory_gb: 80}}")
    _known(where, entry, ("count", "memory_gb"))
    count = entry.get("count")
    if type(count) is not int or not 1 <= count <= MOST_GPUS:
        raise InputError(f"{where}.count: must be a whole number from 1 to {MOST_GPUS}, not {_shown(count)}")
    return count, _number(f"{where}.memory_gb", entry.get("memory_gb"), "GB of each GPU")


def _models(path: Path, entries: Any) -> tuple[ServedModel, ...]:
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{path}: models: must be a list of at least one model, each with name, size_gb, rate and slo")
    if len(entries) > MOST_MODELS:
        raise InputError(f"{path}: models: {len(entries)} are listed; at most {MOST_MODELS} are placed")
    found: list[ServedModel] = []
    places: dict[str, int] = {}
    for number, entry in enumerate(entries, 1):
        where = f"{path}: model {number}"
        if not isinstance(entry, dict):
            raise InputError(f"{where}: must be a mapping with name, size_gb, rate and slo, not {_shown(entry)}")
        name = entry.get("name")
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"{where}: its name must be a text, not {_shown(name)}")
        where = f"{where} ({one_line(name, 60)})"
        if name in places:
            raise InputError(f"{where}: has the name of model {places[name]}; give each model (each replica) its own")
        places[name] = number
        _known(where, entry, ("name", "size_gb", "rate", "slo"))
        found.append(
            ServedModel(
                name=name,
                size=_number(f"{where}: size_gb", entry.get("size_gb"), "GB of weights"),
                rate=_number(f"{where}: rate", entry.get("rate"), "requests per second"),
                slo=_number(f"{where}: slo", entry.get("slo"), "a latency target"),
            )
        )
    return tuple(found)


def _fits(path: Path, gpus: int, memory: Fraction, models: Sequence[ServedModel]) -> None:
    """Raise InputError where counting alone says that no placement exists."""
    largest = max(models, key=lambda model: model.size)
    if largest.size >= memory:
        raise InputError(
            f"{path}: model {one_line(largest.name, 60)!r} has {shown_gb(largest.size)} and a GPU has "
            f"{shown_gb(memory)}: it fits on none, for something must stay free for its cache"
        )
    needed = sum((model.size for model in models), Fraction(0))
    if needed >= gpus * memory:
        raise InputError(
            f"{path}: the models need {shown_gb(needed)}, and {gpus} GPUs of {shown_gb(memory)} have "
            f"{shown_gb(gpus * memory)}: more GPUs are needed, or fewer models"
        )


def _current(
    path: Path, document: Mapping[str, Any], models: Sequence[ServedModel], gpus: int
) -> tuple[int | None, ...] | None:
    entry = document.get("current")
    if entry is None:
        return None
    if not isinstance(entry, dict):
        raise InputError(f"{path}: current: must map names of models to GPUs, as in current: {{chat: 3}}")
    names = [model.name for model in models]
    if foreign := entry.keys() - set(names):
        name = min(map(str, foreign))
        raise InputError(f"{path}: current: there is no model {one_line(name, 60)!r}{nearest(name, names[:1000])}")
    for name, gpu in entry.items():
        if type(gpu) is not int or not 0 <= gpu < gpus:
            raise InputError(
                f"{path}: current: {one_line(name, 60)}: must be a GPU from 0 to {gpus - 1}, not {_shown(gpu)}"
            )
    return tuple(entry.get(name) for name in names)


def _known(where: str, entry: Mapping[str, Any], keys: Sequence[str]) -> None:
    for key in entry:
        if key not in keys:
            raise InputError(f"{where}: unknown key {one_line(str(key), 60)!r}{nearest(str(key), keys)}")


def _number(where: str, value: Any, what: str) -> Fraction:
    """A number above 0, exactly as it is written."""
    if value is None:
        raise InputError(f"{where} is missing: it must be a number above 0 ({what})")
    if type(value) not in (int, float):
        # YAML takes 1e3 for a text: a number with an exponent needs a point and a sign in it.
        plain = " (write it without an exponent, or as 1.0e+3)" if _EXPONENT.fullmatch(str(value)) else ""
        raise InputError(f"{where}: must be a number above 0 ({what}), not {_shown(value)}{plain}")
    if not 0 < value <= _LARGEST:  # NaN is neither
        raise InputError(f"{where}: must be a number above 0 and at most 10^12 ({what}), not {_shown(value)}")
    number = Fraction(repr(value))
    if number.denominator > _DECIMALS:
        raise InputError(f"{where}: {_shown(value)} has more than nine decimal places")
    return number


def shown_gb(size: Fraction) -> str:
    """`26.5 GB`."""
    return f"{float(size):.6g} GB"


def _shown(value: object) -> str:
    return one_line(repr(value), 40)
