"""A cluster's file: what is wrong with it is one sentence, and any cluster is judged exactly as the task's own."""

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.tasks.placement.judge import judge
from evolve.apps.placing.cluster import Cluster, ServedModel, read_cluster
from evolve.apps.placing.instance import as_answer, asked_instance, cost_of, exact_instance
from evolve.apps.placing.plan import moves, renumbered
from evolve.core.errors import InputError

GPUS = "gpus: {count: 2, memory_gb: 80}\n"
A = "  - {name: a, size_gb: 10, rate: 1, slo: 1}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GPUS + "models:\n  - {name: a, size_gb: 80, rate: 1, slo: 1}\n", "model 'a' has 80 GB and a GPU has 80 GB"),
        (
            GPUS + "models:\n" + "".join(A.replace("a,", f"a{n},").replace("10", "40") for n in range(4)),
            "the models need 160 GB, and 2 GPUs of 80 GB have 160 GB: use more GPUs",
        ),
        (
            GPUS + "models:\n  - {name: a, size_gb: 10, slo: 1}\n",
            "line 3: models[0].rate is missing (requests per second)",
        ),
        (GPUS + "models:\n  - {name: a, size_gb: 10, rate: 0, slo: 1}\n", "rate: must be a number above 0"),
        (GPUS + "models:\n  - {name: a, size_gb: 10, rate: 1, slo: 0}\n", "slo: must be a number above 0"),
        (GPUS + "models:\n  - {name: a, size_gb: 10, rate: .nan, slo: 1}\n", "rate: must be a number above 0"),
        (GPUS + "models:\n  - {name: a, size_gb: 10, rate: true, slo: 1}\n", "not True"),
        (GPUS + "models:\n" + A + A, "line 4: models[1].name: 'a' is also the name of models[0]"),
        (GPUS + "models:\n  - {size_gb: 10, rate: 1, slo: 1}\n", "models[0].name is missing"),
        (
            GPUS + "models:\n  - {name: a, size: 10, rate: 1, slo: 1}\n",
            "unknown key 'models[0].size' (did you mean 'models[0].size_gb'?)",
        ),
        (GPUS + "models: []\n", "models: must have at least 1 item, not []"),
        (
            "gpus: [{count: 1, memory_gb: 80}, {count: 1, memory_gb: 24}]\nmodels:\n" + A,
            "gpus: must be one mapping, as in gpus: {count: 16",
        ),
        ("gpus: {count: 0, memory_gb: 80}\nmodels:\n" + A, "gpus.count: must be greater than or equal to 1, not 0"),
        ("gpus: {count: 1}\nmodels:\n" + A, "gpus.memory_gb is missing"),
        ("models:\n" + A, "gpus is missing (count and memory_gb)"),
        (GPUS + "models:\n" + A + "current: {b: 0}\n", "there is no model 'b'"),
        (GPUS + "models:\n" + A + "current: {a: 2}\n", "current.a: must be a GPU from 0 to 1, not 2"),
    ],
)
def test_a_bad_cluster_is_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "cluster.yaml"
    file.write_text(text)
    with pytest.raises(InputError) as refused:
        read_cluster(file)
    assert message in str(refused.value)
    assert str(refused.value).startswith(str(file))
    assert "\n" not in str(refused.value)


decimals = st.decimals(min_value="0.001", max_value="500", places=3).map(Fraction)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    memory = draw(decimals.filter(lambda gb: gb > 1))
    sizes = draw(st.lists(st.fractions(min_value="1/50", max_value="1/3", max_denominator=50), min_size=1, max_size=8))
    models = tuple(
        ServedModel(name=f"m{n}", size=memory * share, rate=draw(decimals), slo=draw(decimals))
        for n, share in enumerate(sizes)
    )
    return Cluster(gpus=draw(st.integers(2, 5)), memory=memory, models=models, current=None)


@given(clusters(), st.data())
def test_the_cost_of_a_placement_is_the_clusters_own_pressure_and_programs_rank_placements_alike(
    cluster: Cluster, data: st.DataObject
) -> None:
    placement = data.draw(st.tuples(*[st.integers(0, cluster.gpus - 1) for _ in cluster.models]))
    held = [[m for m, gpu in zip(cluster.models, placement, strict=True) if gpu == at] for at in range(cluster.gpus)]
    free = [cluster.memory - sum(m.size for m in on) for on in held]
    if min(free) <= 0:
        return
    pressure = max(sum(m.rate / m.slo for m in on) / left for on, left in zip(held, free, strict=True))
    assert cost_of(cluster, placement) == pressure
    asked = asked_instance(cluster)
    for (size, _, _), (exact, _, _) in zip(asked["models"], exact_instance(cluster)["models"], strict=True):
        assert 0 <= size - exact < Fraction(1, 10**6)  # what fits for a program fits


def test_a_cluster_of_whole_numbers_and_80_gb_is_put_as_it_is() -> None:
    models = (ServedModel(name="a", size=Fraction(20), rate=Fraction(3), slo=Fraction(7)),)
    cluster = Cluster(gpus=1, memory=Fraction(80), models=models, current=None)
    assert asked_instance(cluster) == {"gpu_num": 1, "models": [[20, 3, 7]], "names": ["a"]}
    assert judge(exact_instance(cluster), as_answer(1, (0,))) == Fraction(3, 7) / 60


@given(clusters(), st.data())
def test_renumbering_changes_names_of_gpus_alone_and_never_moves_more(cluster: Cluster, data: st.DataObject) -> None:
    gpus = st.integers(0, cluster.gpus - 1)
    placement = data.draw(st.tuples(*[gpus for _ in cluster.models]))
    current = data.draw(st.tuples(*[st.none() | gpus for _ in cluster.models]))
    again = renumbered(cluster, placement, current)
    pairs = set(zip(placement, again, strict=True))
    assert len(pairs) == len(set(placement)) == len(set(again))
    assert renumbered(cluster, again, again) == again  # nothing moves that is where it is to be
    assert moves(again, again) == []
    assert {move.model for move in moves(again, current)} == {
        n for n, (to, at) in enumerate(zip(again, current, strict=True)) if to != at
    }
