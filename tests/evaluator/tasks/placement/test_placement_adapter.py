"""What a candidate is called with, and what is made of whatever it returns."""

import collections
import copy
import itertools
import json
import types
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.tasks.placement.adapter import Model, prepare

DATA = {"gpu_num": 2, "models": [[40, 6, 5], [30, 3, 7], [41, 1, 9]]}


def test_arguments_are_as_the_published_benchmark_has_them() -> None:
    (gpu_num, models), _ = prepare(DATA)
    assert gpu_num == 2
    assert [vars(model) for model in models] == [
        {"model_name": f"model_{j}", "model_size": size, "req_rate": rate, "slo": slo, "cur_gpu_id": j}
        for j, (size, rate, slo) in enumerate(DATA["models"])  # type: ignore[arg-type]
    ]


def test_models_can_be_copied_compared_and_held_in_sets() -> None:
    (_, models), _ = prepare(DATA)
    copies = copy.deepcopy(models)
    assert copies == models
    assert models[0] != models[1]
    assert set(copies) == set(models)


def test_the_source_stands_alone() -> None:
    from evaluator.task_files import load_task

    space: dict[str, Any] = {"__name__": "adapter"}
    exec(compile(load_task("placement").adapter_source, "adapter.py", "exec"), space)
    (_, models), encode = space["prepare"](DATA)
    assert encode({0: models}) == [[0, [0, 1, 2]]]


def test_models_count_by_identity_whatever_was_done_to_them() -> None:
    (_, models), encode = prepare(DATA)
    originals = list(models)
    models[0].model_name = "model_2"
    models[1].model_name = ["no", "name"]  # type: ignore[assignment]
    del models[2].model_size
    models.clear()
    assert encode({0: [originals[0], originals[1]], 1: [originals[2]]}) == [[0, [0, 1]], [1, [2]]]


def test_copies_count_by_name() -> None:
    (_, models), encode = prepare(DATA)
    lookalike = types.SimpleNamespace(model_name="model_2", model_size=0)
    answer = encode({0: copy.deepcopy(models[:2]), 1: [lookalike]})
    assert answer == [[0, [0, 1]], [1, [2]]]


class Many(collections.UserDict[int, Any]):
    pass


@pytest.mark.parametrize(
    "wrap",
    [
        dict,
        collections.OrderedDict,
        Many,
        types.MappingProxyType,
        lambda placement: collections.defaultdict(list, placement),
        lambda placement: {gpu: tuple(held) for gpu, held in placement.items()},
        lambda placement: {gpu: iter(held) for gpu, held in placement.items()},
        lambda placement: {gpu: (model for model in held) for gpu, held in placement.items()},
        lambda placement: {gpu: collections.deque(held) for gpu, held in placement.items()},
    ],
)
def test_any_mapping_of_gpus_to_iterables_is_read(wrap: Any) -> None:
    (_, models), encode = prepare(DATA)
    assert encode(wrap({0: models[:2], 1: models[2:]})) == [[0, [0, 1]], [1, [2]]]


def test_numpy_integers_are_gpu_ids() -> None:
    np = pytest.importorskip("numpy")
    (_, models), encode = prepare(DATA)
    answer = encode({np.int64(1): models, np.uint8(0): []})
    assert answer == [[1, [0, 1, 2]], [0, []]]
    assert all(type(gpu) is int for gpu, _ in answer)


def test_an_int_subclass_becomes_a_plain_int() -> None:
    class Lying(int):
        def __index__(self) -> int:
            return 7

        def __int__(self) -> int:
            return 8

    (_, models), encode = prepare(DATA)
    [[gpu, _]] = encode({Lying(1): models})
    assert (type(gpu), gpu) == (int, 1)


@pytest.mark.parametrize("key", [True, 1.0, "1", None, (1,), float("nan"), 10**100])
def test_what_is_no_gpu_id_is_refused(key: object) -> None:
    (_, models), encode = prepare(DATA)
    with pytest.raises(ValueError, match="GPU id"):
        encode({key: models})


def test_a_missing_gpu_id_passes_to_the_judge() -> None:
    (_, models), encode = prepare(DATA)
    assert encode({-1: models, 9: []}) == [[-1, [0, 1, 2]], [9, []]]


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, r"NoneType, not a dict \{gpu_id: \[model, ...\]\} \(is a return missing\?\)"),
        ([], "is a list, not a dict"),
        ("text", "is a str, not a dict"),
        (float("nan"), "is a float, not a dict"),
        ({0: None}, "GPU 0 has a NoneType where a list of models is expected"),
        ({0: "model_0"}, "GPU 0 has a str where"),
        ({0: {"model_0": 1}}, "GPU 0 has a dict where"),
        ({0: ["model_0"]}, "GPU 0 holds a str, which is not a model"),
        ({0: [0]}, "GPU 0 holds a int, which is not a model"),
        ({0: [types.SimpleNamespace(model_name="model_9")]}, "a model named 'model_9', and no such model"),
        ({0: [types.SimpleNamespace(model_name=2)]}, "is not a model"),
        ({0: [Model("x" * 10**6, 1, 1, 1, 0)]}, "a model named 'xxx"),
    ],
)
def test_what_is_no_placement_is_refused_with_a_reason_to_learn_from(result: object, message: str) -> None:
    _, encode = prepare(DATA)
    with pytest.raises(ValueError, match=message) as refusal:
        encode(result)
    assert len(str(refusal.value)) < 300


def test_endless_and_self_containing_structures_end() -> None:
    (_, models), encode = prepare(DATA)
    loop: list[Any] = []
    loop.append(loop)

    class Endless(dict[int, Any]):
        def items(self) -> Any:
            return ((0, []) for _ in itertools.count())

    with pytest.raises(ValueError, match="which is not a model"):
        encode({0: loop})
    with pytest.raises(ValueError, match="more models than the 3"):
        encode({0: itertools.repeat(models[0])})
    with pytest.raises(ValueError, match="more models than the 3"):
        encode({0: [models[0]] * 1_000_000})
    with pytest.raises(ValueError, match="more GPUs than the 2"):
        encode(Endless())


def test_containers_that_lie_are_read_once_and_only_that_reading_counts() -> None:
    (_, models), encode = prepare(DATA)
    looks = itertools.count()

    class LyingList(list[Any]):
        def __iter__(self) -> Iterator[Any]:
            return iter(models[:2] if next(looks) == 0 else [])

        def __len__(self) -> int:
            return 1_000_000

        def __contains__(self, item: object) -> bool:
            return True

    class LyingDict(dict[int, Any]):
        def items(self) -> Any:
            return [(0, LyingList())]

        def keys(self) -> Any:
            return [5]

        def __getitem__(self, key: int) -> Any:
            return models

    answer = encode(LyingDict())
    assert answer == [[0, [0, 1]]]
    assert type(answer) is list
    assert type(answer[0][1]) is list


things = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.binary(max_size=2))


@given(st.dictionaries(things, st.lists(things, max_size=3) | things, max_size=5) | things)
def test_anything_is_plain_json_or_a_value_error(result: object) -> None:
    _, encode = prepare(DATA)
    try:
        answer = encode(result)
    except ValueError as refusal:
        assert str(refusal)
    else:
        assert json.loads(json.dumps(answer)) == answer
