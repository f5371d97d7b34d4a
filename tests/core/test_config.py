"""Claims about the configuration of a run."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evaluator.yaml_file import parse_value
from evolve.core.config import ModelConfig, build_config, keys, render_config, set_key
from evolve.core.errors import InputError
from evolve.core.settings import with_absolute_paths


def refusal(document: dict) -> str:
    with pytest.raises(InputError) as caught:
        build_config(document, origin="my.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"generation": 10}, ["my.yaml", "'generation'", "did you mean 'generations'?"]),
        ({"search": {"elite": 4}}, ["'search.elite'", "did you mean 'search.elites'?"]),
        ({"search": {"kinds": {"zzz": 4}}}, ["'search.kinds.zzz'"]),
        ({"generations": "ten"}, ["generations", "'ten'", "integer"]),
        ({"generations": True}, ["generations", "True"]),
        ({"seed": 1.5}, ["seed", "1.5"]),
        ({"generations": 0}, ["generations", "greater than or equal to 1", "0"]),
        ({"minutes": -1}, ["minutes", "-1"]),
        ({"search": 3}, ["search", "3"]),
        ({"task": "x" * 500, "parallel": "y" * 500}, ["parallel", "..."]),
        (
            {"models": [{"modl": "x"}]},
            ["models[0].model is missing", "'models[0].modl'", "did you mean 'models[0].model'?"],
        ),
        ({"models": [{"model": "x"}, {"model": "x"}]}, ["two models are called 'x'"]),
        ({"models": [{"model": "x", "name": "tuner"}]}, ["a model is called 'tuner', which names code"]),
        ({"models": [{"model": "x"}], "budget_usd": 1}, ["'x' has no price", "price_in"]),
        ({"budget_usd": 1}, ["budget_usd", "no model is named"]),
        ({"meta_model": "y", "models": [{"model": "x"}]}, ["meta_model 'y'", "x"]),
        ({"generations": None}, ["generations", "minutes", "never stop"]),
        ({"workers": 0}, ["workers", "from 1 to 1024", "dask://HOST:PORT", "0"]),
        ({"workers": True}, ["workers", "from 1 to 1024", "True"]),
        ({"workers": "many"}, ["workers", "dask://HOST:PORT", "'many'"]),
        ({"workers": "dask://nowhere"}, ["workers", "no cluster", "dask:local:N", "'dask://nowhere'"]),
        ({"workers": "dask:local:999"}, ["workers", "999 worker processes", "at most 256"]),
    ],
)
def test_a_mistake_is_named_with_its_file_key_and_value(document: dict, words: list[str]) -> None:
    message = refusal(document)
    assert all(word in message for word in words), message
    assert "\n" not in message


@pytest.mark.parametrize(
    "key", ["sk-proj-0123456789abcdef", "gsk_0123456789abcdefABCDEF0123", "AIzaSyA0123456789abcdefghi", "my key", "", 7]
)
def test_a_key_where_its_variables_name_belongs_is_refused_and_not_repeated(key: object) -> None:
    message = refusal({"models": [{"model": "m", "api_key_env": key}]})
    assert "NAME of an environment variable" in message
    assert str(key) not in message.replace("models[0].api_key_env", "") or key in ("", 7)


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "_KEY2", "my_key", "THE_LONG_NAME_OF_A_KEYS_VARIABLE", None])
def test_a_variables_name_is_taken(name: str | None) -> None:
    config = build_config({"models": [{"model": "m", "api_key_env": name}]}, origin="x")
    assert config.models[0].api_key_env == name


def test_what_is_no_finite_number_is_refused() -> None:
    for value in (float("inf"), float("nan")):
        assert "minutes" in refusal({"minutes": value})


def test_every_mistake_is_named_at_once() -> None:
    assert "generation" in (message := refusal({"generation": 1, "seeds": 2}))
    assert "seeds" in message


@given(st.integers(), st.none() | st.integers(1, 10**6), st.floats(0.1, 1e6), st.integers(1, 99), st.text(min_size=1))
def test_what_is_printed_reads_back_as_the_same_configuration(
    seed: int, generations: int | None, minutes: float, elites: int, suite: str
) -> None:
    document = {
        "models": [{"model": suite, "price_in": minutes}, {"model": "other" + suite, "name": "o" + suite}],
        "seed": seed,
        "generations": generations,
        "minutes": minutes,
        "search": {"elites": elites},
        "suite": suite,
    }
    config = build_config(document, origin="test")
    assert build_config(parse_value(render_config(config)), origin="printed") == config


def test_every_key_is_documented_where_it_is_printed() -> None:
    lines = render_config(build_config({"models": [{"model": "x"}]}, origin="test")).splitlines()
    assert all(re.search(r"# \w", line) for line in lines)
    printed = [re.match(r"[ -]*(\w+):", line)[1] for line in lines]
    assert {key.rpartition(".")[2] for key in keys()} <= set(printed)


def test_dotted_keys_reach_their_section() -> None:
    document: dict = {}
    set_key(document, "search.kinds.cross", 0.5)
    set_key(document, "seed", 4)
    assert document == {"search": {"kinds": {"cross": 0.5}}, "seed": 4}
    with pytest.raises(InputError, match="not a section"):
        set_key(document, "seed.x", 1)


def test_a_scripted_model_may_read_a_file_that_ships() -> None:
    named, shipped = (ModelConfig(model=f"scripted:{name}") for name in ("mine.yaml", "programs:placement/initial.py"))
    assert named.script == Path("mine.yaml").resolve()
    assert shipped.script is not None
    assert shipped.script.is_file()
    assert ModelConfig(model="qwen").script is None


def test_a_run_keeps_the_name_of_a_file_that_ships_wherever_that_is_installed() -> None:
    named = "scripted:programs:placement/tour_answers.yaml"
    config = build_config({"models": [{"model": named}]}, origin="x")
    assert with_absolute_paths(config).models[0].model == named


@pytest.mark.parametrize(
    ("workers", "scheduler", "local"),
    [
        ("dask:local:4", "", 4),
        ("dask://10.0.0.5:8786", "tcp://10.0.0.5:8786", 0),
        ("dask+tls://[::1]:8786", "tls://[::1]:8786", 0),
    ],
)
def test_workers_name_a_cluster(workers: str, scheduler: str, local: int) -> None:
    config = build_config({"workers": workers}, origin="x")
    assert config.cluster is not None
    assert (config.cluster.scheduler, config.cluster.local) == (scheduler, local)
    assert config.processes >= 1
    assert build_config(yaml.safe_load(render_config(config)), origin="x") == config


def test_workers_as_a_number_are_processes_of_this_machine() -> None:
    config = build_config({"workers": 3}, origin="x")
    assert (config.cluster, config.processes) == (None, 3)
