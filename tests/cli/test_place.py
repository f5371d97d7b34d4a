"""`evolve place` as a person meets it."""

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

CLUSTERS = Path(__file__).resolve().parents[2] / "programs" / "placement" / "clusters"
GREEDY = "programs/placement/baselines/greedy_size.py"


def pressures(path: Path, plan: dict[str, Any]) -> list[Fraction]:
    """Of each GPU, computed from the cluster's text by nothing of ours."""
    import yaml

    cluster = yaml.safe_load(path.read_text())
    models = {one["name"]: one for one in cluster["models"]}
    found = []
    for gpu in plan["placement"]:
        on = [models.pop(name) for name in gpu["models"]]
        free = Fraction(str(cluster["gpus"]["memory_gb"])) - sum(Fraction(str(m["size_gb"])) for m in on)
        assert free > 0
        found.append(sum(Fraction(str(m["rate"])) / Fraction(str(m["slo"])) for m in on) / free)
    assert not models  # each is placed once
    assert [gpu["gpu"] for gpu in plan["placement"]] == list(range(cluster["gpus"]["count"]))
    return found


@pytest.mark.parametrize("name", ["sixteen", pytest.param("sixty_four", marks=pytest.mark.slow)])
def test_a_shipped_cluster_is_placed_and_every_number_holds(evolve_json, tmp_path, name):
    file, picture = CLUSTERS / f"{name}.yaml", tmp_path / "placement.svg"
    plan = evolve_json("place", file, "--seconds", "0.3", "--svg", picture)
    found = pressures(file, plan)
    assert float(max(found)) == plan["pressure"]
    assert [float(one) for one in found] == pytest.approx([gpu["pressure"] for gpu in plan["placement"]])
    assert plan["bound"] <= plan["pressure"]
    reached = [one["pressure"] for one in plan["tried"] if one["pressure"] is not None]
    assert plan["pressure"] == min(reached)
    assert {one["program"] for one in plan["tried"]} >= {"initial", "naive", "binary_search"}
    ElementTree.fromstring(picture.read_text())
    if name == "sixteen":
        assert plan["current"]["pressure"] > plan["pressure"]
        at = {model: gpu["gpu"] for gpu in plan["placement"] for model in gpu["models"]}
        assert all(at[move["model"]] == move["to"] != move["from"] for move in plan["moves"])
        assert 0 < len(plan["moves"]) < 60
    else:
        assert "of 24 GB" in picture.read_text()
        assert (plan["moves"], plan["current"]) == (None, None)


def test_an_overfull_cluster_is_one_sentence(evolve):
    output = evolve("place", CLUSTERS / "overfull.yaml", code=2)
    assert "the models need 356.4 GB, and 4 GPUs of 80 GB have 320 GB" in output


@pytest.mark.parametrize(("models", "gpus"), [(40, 16), pytest.param(100, 40, marks=pytest.mark.slow)])
def test_numbers_with_decimals_are_placed_like_any_other(evolve_json, tmp_path, models, gpus):
    rng, file = random.Random(models), tmp_path / "cluster.yaml"
    lines = [
        f"  - {{name: m{at}, size_gb: {rng.randint(10, 250) / 10}, rate: {rng.randint(1, 99) / 10}, "
        f"slo: {rng.randint(1, 49) / 10}}}\n"
        for at in range(models)
    ]
    file.write_text(f"gpus: {{count: {gpus}, memory_gb: 80}}\nmodels:\n{''.join(lines)}")
    plan = evolve_json("place", file, "--seconds", "0.3")
    assert float(max(pressures(file, plan))) == plan["pressure"]
    assert plan["exact"]["pressure"] is None or plan["exact"]["pressure"] >= plan["bound"]


def test_a_placement_that_nothing_beats_stays(evolve, evolve_json, tmp_path):
    file = tmp_path / "cluster.yaml"
    models = "".join(f"  - {{name: m{n}, size_gb: 10.5, rate: 2, slo: 1}}\n" for n in range(4))
    file.write_text(f"gpus: {{count: 4, memory_gb: 40}}\nmodels:\n{models}current: {{m0: 3, m1: 1, m2: 0, m3: 2}}\n")
    plan = evolve_json("place", file, "--program", GREEDY)
    assert (plan["program"], plan["moves"], plan["gap"]) == ("the current placement", [], 0.0)
    assert "no program found a better placement: nothing moves" in evolve("place", file, "--program", GREEDY)
    file.write_text(file.read_text().replace("m3: 2}", "m3: 0}"))  # two models on one GPU
    output = evolve("place", file, "--program", GREEDY)
    assert "1 model (10.5 GB) has to move" in output


@pytest.mark.slow
def test_what_is_too_slow_is_cut_off_and_what_fails_says_why(evolve, evolve_json, tmp_path):
    file, program = CLUSTERS / "sixteen.yaml", tmp_path / "program.py"
    program.write_text("def compute_model_placement(gpu_num, models):\n    while True: pass\n")
    plan = evolve_json("place", file, "--program", program, "--seconds", "0.5", code=1)
    assert plan["tried"][0]["cut_off"]
    assert plan["program"] == "the current placement"  # the best that is known
    text = file.read_text().partition("current:")[0]
    (tmp_path / "new.yaml").write_text(text)
    output = json.loads(
        evolve("place", tmp_path / "new.yaml", "--program", program, "--seconds", "0.5", "--json", code=1)
    )
    assert output["pressure"] is None or output["program"] == "the exact solver's placement"
    program.write_text("def compute_model_placement(gpu_num, models):\n    return {0: models}\n")
    output = evolve("place", tmp_path / "new.yaml", "--program", program, code=1)
    assert "the models on a GPU take all of its memory, or more" in output
    assert "No program found a placement" in output


@pytest.mark.slow
@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_thousands_of_models_are_answered_in_time(evolve_json, tmp_path, count):
    rng, file = random.Random(count), tmp_path / "large.yaml"
    models = "".join(
        f"  - {{name: m{n}, size_gb: {rng.randint(1, 30)}, rate: {rng.randint(1, 9)}, slo: {rng.randint(1, 9)}}}\n"
        for n in range(count)
    )
    file.write_text(f"gpus: {{count: {count // 4}, memory_gb: 80}}\nmodels:\n{models}")
    plan = evolve_json("place", file, "--program", GREEDY, "--seconds", "60")
    assert len(plan["placement"]) == count // 4
    assert max(pressures(file, plan)) >= Fraction(plan["bound"]).limit_denominator(10**12) * Fraction(999, 1000)


@pytest.mark.slow
def test_a_program_of_a_run_of_another_task_is_refused(evolve, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    evolve("run", "--task", "circle_packing", "--generations", "1", "--name", "other", "--set", "workers=1")
    output = evolve("place", CLUSTERS / "sixteen.yaml", "--program", "other:best", code=2)
    assert "only programs of placement can place models" in output


def test_hardly_any_memory_left_is_placed_and_the_solver_loses_nothing(evolve_json, tmp_path):
    file = tmp_path / "cluster.yaml"
    models = "".join(f"  - {{name: m{at}, size_gb: 39.95, rate: {2.2 + at / 2}, slo: 2}}\n" for at in range(8))
    file.write_text(f"gpus: {{count: 4, memory_gb: 80}}\nmodels:\n{models}")
    plan = evolve_json("place", file, "--seconds", "0.3")
    assert float(max(pressures(file, plan))) == plan["pressure"]
    if plan["exact"]["pressure"] is not None:
        assert float(max(pressures(file, plan["exact"]))) == plan["exact"]["pressure"] >= plan["bound"]


def test_a_program_that_fails_is_reported_even_with_a_placement(evolve, evolve_json, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("x = (\n")
    output = evolve("place", CLUSTERS / "sixteen.yaml", "--program", broken, "--seconds", "0.3", code=1)
    assert "No program found a placement: this one is the current placement." in output
    assert "SyntaxError" in output or "was never closed" in output
    plan = evolve_json("place", CLUSTERS / "sixteen.yaml", "--program", broken, "--seconds", "0.3", code=1)
    assert plan["program"] == "the current placement"
    file = tmp_path / "new.yaml"
    file.write_text("gpus: {count: 1, memory_gb: 10}\nmodels: [{name: a, size_gb: 4, rate: 1, slo: 1}]\n")
    if plan["exact"]["pressure"] is None:  # without OR-Tools nothing is found here
        return
    assert float(max(pressures(CLUSTERS / "sixteen.yaml", plan["exact"]))) == plan["exact"]["pressure"]
    alone = evolve_json("place", file, "--program", broken, "--seconds", "0.3", code=1)
    assert (alone["program"], alone["pressure"]) == ("the exact solver's placement", pytest.approx(1 / 6))


@pytest.mark.parametrize("name", ["there.svg", "nowhere/at.svg", "."])
def test_a_picture_that_cannot_be_written_is_refused_before_any_work(evolve, tmp_path, name):
    (tmp_path / "there.svg").write_text("mine")
    output = evolve("place", CLUSTERS / "sixteen.yaml", "--seconds", "600", "--svg", tmp_path / name, code=2)
    assert "exists already" in output or "cannot be written" in output or "is a folder" in output


def test_a_new_model_does_not_move(evolve, tmp_path):
    file = tmp_path / "cluster.yaml"
    file.write_text(
        "gpus: {count: 2, memory_gb: 80}\nmodels: [{name: a, size_gb: 20, rate: 1, slo: 1}, "
        "{name: b, size_gb: 50, rate: 1, slo: 1}]\ncurrent: {a: 1}\n"
    )
    output = evolve("place", file, "--program", GREEDY, "--seconds", "0.3")
    assert "; nothing moves" in output and "1 model (50 GB) on no GPU yet" in output


def test_a_cluster_that_ships_is_known_by_its_name_anywhere(evolve, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = evolve("place", "overfull", code=2)
    assert "overfull.yaml" in output
    output = evolve("place", "nowhere", code=2)
    assert "nowhere: is neither a file nor a shipped cluster (overfull, sixteen, sixty_four)" in output


def test_gpus_stand_by_number_and_what_is_left_out_says_where_it_is(evolve, tmp_path):
    file = tmp_path / "cluster.yaml"
    models = "".join(f"  - {{name: m{number}, size_gb: {5 + number}, rate: 1, slo: 1}}\n" for number in range(45))
    file.write_text("gpus: {count: 45, memory_gb: 80}\nmodels:\n" + models)
    lines = evolve("place", file, "--seconds", "0.3").splitlines()
    left = next(line for line in lines if line.endswith("more GPUs with less pressure (--json has all)"))
    rows = lines[lines.index(next(line for line in lines if line.startswith("GPU"))) + 1 : lines.index(left)]
    numbers = [int(row.split()[0]) for row in rows if row.strip()[:1].isdigit()]
    assert len(numbers) == 40
    assert numbers == sorted(numbers)
