"""The placement task inside the candidate's process: JSON instance -> arguments, placement -> JSON.

This source runs beside the candidate, which may have changed anything; nothing here is trusted. It only turns
what an honest program returns into plain integers and says what is wrong with what it cannot read. Whether the
placement is right is decided by the judge, from the pristine instance.
"""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any


class Model:
    """A model to serve: size in GB, request rate in 1/s, latency target. Equal when all attributes are."""

    def __init__(self, model_name: str, model_size: int, req_rate: int, slo: int, cur_gpu_id: int) -> None:
        self.model_name = model_name
        self.model_size = model_size
        self.req_rate = req_rate
        self.slo = slo
        self.cur_gpu_id = cur_gpu_id

    def __eq__(self, other: object) -> bool:
        return self is other or (type(other) is type(self) and vars(other) == vars(self))

    def __hash__(self) -> int:
        # Of integers that a program has no reason to change, so that a set of models has the same order
        # in every process, whatever the hash seed.
        return hash((self.model_size, self.req_rate, self.slo))

    def __repr__(self) -> str:
        return (
            f"Model(model_name={self.model_name!r}, model_size={self.model_size}, req_rate={self.req_rate}, "
            f"slo={self.slo}, cur_gpu_id={self.cur_gpu_id})"
        )


class _Originals:
    """The models that were passed in. Honest programs sort the list that they are given and change attributes of the
    models: what is kept here is the objects themselves (so that an id stays theirs) and the names as they were."""

    def __init__(self, models: list[Model], names: Sequence[str]) -> None:
        self.models = tuple(models)
        self._by_identity = {id(model): index for index, model in enumerate(models)}
        self._by_name = {name: index for index, name in enumerate(names)}

    def index_of(self, item: object, gpu: int) -> int:
        """Which model `item` is. Raises ValueError when it is none."""
        index = self._by_identity.get(id(item))
        if index is not None:
            return index
        name = getattr(item, "model_name", None)
        if type(name) is not str:
            raise ValueError(
                f"GPU {gpu} holds a {type(item).__name__}, which is not a model: the lists must hold the models "
                "that were passed in"
            )
        if name not in self._by_name:
            raise ValueError(f"GPU {gpu} holds a model named {name[:50]!r}, and no such model was passed in")
        return self._by_name[name]


def prepare(
    instance: Mapping[str, Any],
) -> tuple[tuple[int, list[Model]], Callable[[object], list[list[Any]]]]:
    """The arguments `(gpu_num, models)` of `compute_model_placement`, and the encoder of what it returns."""
    gpu_num = instance["gpu_num"]
    names = instance.get("names") or [f"model_{index}" for index in range(len(instance["models"]))]
    models = [Model(names[index], size, rate, slo, index) for index, (size, rate, slo) in enumerate(instance["models"])]
    originals = _Originals(models, names)
    return (gpu_num, models), lambda result: _encode(result, gpu_num, originals)


def _encode(result: object, gpu_num: int, originals: _Originals) -> list[list[Any]]:
    """`{gpu_id: [model, ...]}` as `[[gpu_id, [model index, ...]], ...]`. Raises ValueError."""
    if not isinstance(result, Mapping):
        raise ValueError(  # noqa: TRY004 - the contract of `encode`
            f"the placement is a {type(result).__name__}, not a dict {{gpu_id: [model, ...]}}"
            + (" (is a return missing?)" if result is None else "")
        )
    answer: list[list[Any]] = []
    room = 2 * len(originals.models)  # more than all models twice is never an answer, and may be endless
    for key, items in result.items():
        if len(answer) >= 2 * gpu_num:
            raise ValueError(f"the placement names more GPUs than the {gpu_num} that there are")
        gpu = _gpu_id(key)
        if isinstance(items, (str, bytes, Mapping)) or not isinstance(items, Iterable):
            raise ValueError(  # noqa: TRY004 - the contract of `encode`
                f"GPU {gpu} has a {type(items).__name__} where a list of models is expected"
            )
        indexes: list[int] = []
        for item in items:
            if not room:
                raise ValueError(f"the placement lists more models than the {len(originals.models)} that there are")
            room -= 1
            indexes.append(originals.index_of(item, gpu))
        answer.append([gpu, indexes])
    return answer


def _gpu_id(key: object) -> int:
    """`key` as a plain int. Raises ValueError for a bool, a float, a string, or a number beyond any GPU."""
    if isinstance(key, bool):
        raise ValueError(  # noqa: TRY004 - the contract of `encode`
            f"the GPU id {key} is a bool; ids are ints, such as {int(key)}"
        )
    try:
        gpu = int.__index__(operator.index(key))  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(f"a GPU id is a {type(key).__name__}; ids are ints, such as 0") from None
    if abs(gpu) > 10**9:
        raise ValueError("a GPU id is a number far out of range")
    return gpu
