"""Whatever a configuration of another system holds: settings that can be used here, or one sentence."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.apps.importing.scripts import configured_in
from evolve.apps.importing.settings import TheirSettings, of_openevolve, of_shinka
from evolve.core.config import build_config
from evolve.core.errors import InputError

SCALARS = st.none() | st.booleans() | st.integers(-5, 500) | st.floats() | st.text(max_size=6)
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=4), SCALARS, max_size=2)
MODELS = st.fixed_dictionaries({"name": SCALARS}, optional={"weight": VALUES, "api_base": VALUES, "api_key": VALUES})


def sections(**keys: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Documents with some of these keys, by section, and any values; a section may be no section at all."""
    return st.fixed_dictionaries(
        {},
        optional={
            section: st.fixed_dictionaries({}, optional=dict.fromkeys(names, VALUES)) | VALUES
            for section, names in keys.items()
        },
    )


OPENEVOLVE = sections(
    max_iterations=[],
    random_seed=[],
    early_stopping_patience=[],
    prompt=["system_message", "num_top_programs"],
    evaluator=["timeout", "cascade_evaluation", "cascade_thresholds", "evaluator_args", "memory_limit_mb"],
    database=["feature_dimensions", "num_islands"],
    llm=[
        "primary_model",
        "secondary_model",
        "primary_model_weight",
        "api_base",
        "api_key",
        "temperature",
        "max_tokens",
    ],
)
SHINKA = sections(
    evo_config=["task_sys_msg", "num_generations", "llm_models", "llm_kwargs", "max_api_costs", "meta_llm_models"],
    job_config=["time", "extra_cmd_args", "eval_program_path"],
    db_config=["num_islands"],
)


def usable(settings: TheirSettings) -> None:
    """What was taken over is right here."""
    names = [str(model["model"]) for model in settings.models]
    if len(set(names)) == len(names) and all(names) and any(model.get("weight", 1) for model in settings.models):
        build_config({**settings.run, "models": list(settings.models)}, origin="theirs")
    else:
        build_config(settings.run, origin="theirs")
    assert settings.wall_s is None or 0 < settings.wall_s < math.inf
    written = repr(settings.constants)
    assert eval(written, {"__builtins__": {}}) == settings.constants


@given(document=OPENEVOLVE, entries=st.none() | st.lists(MODELS, max_size=2), stages=st.integers(0, 3))
def test_whatever_openevolve_is_configured_by(document: dict[str, Any], entries: Any, stages: int) -> None:
    if entries is not None and isinstance(document.get("llm"), dict):
        document["llm"]["models"] = entries
    try:
        settings = of_openevolve(document, "config.yaml", stages=stages)
    except InputError as error:
        assert str(error).startswith(("config.yaml: ", "llm.models: "))
        return
    usable(settings)


@given(document=SHINKA)
def test_whatever_shinkaevolve_is_configured_by(document: dict[str, Any]) -> None:
    try:
        settings = of_shinka(document, "shinka.yaml")
    except InputError as error:
        assert str(error).startswith("shinka.yaml: ")
        return
    usable(settings)


@pytest.mark.parametrize(
    ("time", "seconds"), [("00:10:00", 600.0), ("1:00", 60.0), (90, 90.0), ("01:00:01", 3601.0), ("00:00:07", 7.0)]
)
def test_times(time: object, seconds: float) -> None:
    assert of_shinka({"job_config": {"time": time}}, "o").wall_s == seconds


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ("'a' 'b'", "ab"),
        ("-3", -3),
        ("[1, 'x', None]", [1, "x", None]),
        ("dict(a=1, b={'c': 2})", {"a": 1, "b": {"c": 2}}),
        ("NAME", "given above"),
        ("dedent('''\n  a\n  b''').strip()", "a\nb"),
        ("'a' + NAME", "agiven above"),
    ],
)
def test_what_a_script_spells_out_is_read(value: str, plain: object) -> None:
    found, computed = configured_in(f"NAME = 'given above'\nx = core.EvolutionConfig(key={value})\n")
    assert (found, computed) == ({"evo_config": {"key": plain}}, [])


@pytest.mark.parametrize(
    "value", ["f()", "NAME", "SELF", "f'{x}'", "1 + 1", "open('x').read()", "[y for y in z]", "{**a}"]
)
def test_what_a_script_computes_is_not(value: str) -> None:
    found, computed = configured_in(f"SELF = SELF\nLocalJobConfig(key={value}, other=1, **more)\n")
    assert (found, computed) == ({"job_config": {"other": 1}}, ["job_config.key", "job_config.**"])
