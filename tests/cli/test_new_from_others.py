"""`evolve new --from-openevolve DIR` and `--from-shinka DIR`: what is converted, what is listed, what is refused."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from evaluator.places import TEMPLATES
from evaluator.task_files import load_task
from evolve.core.program import evolve_regions
from evolve.core.settings import configured

DATA = Path(__file__).parent.parent / "data"
OPENEVOLVE, SHINKA = "--from-openevolve", "--from-shinka"


@pytest.fixture
def theirs(tmp_path, monkeypatch):
    """A folder to be filled; the new one is made next to it."""
    monkeypatch.chdir(tmp_path)
    Path("theirs").mkdir()
    return Path("theirs")


def small(folder, *, config=None, initial="initial_program.py", evaluator="evaluator.py"):
    """The least of a task of OpenEvolve."""
    (folder / initial).write_text("# EVOLVE-BLOCK-START\nA = 1\n# EVOLVE-BLOCK-END\n")
    (folder / evaluator).write_text("def evaluate(path):\n    return {'combined_score': 1.0}\n")
    if config is not None:
        (folder / "config.yaml").write_text(config)


def with_models(run_yaml):
    """A generated run.yaml once somebody has taken away the comment signs."""
    return re.sub(r"^# ((?: *-? *\w+:.*))$", r"\1", run_yaml, flags=re.MULTILINE)


def test_all_that_means_something_is_converted_and_the_rest_is_listed(tmp_path, monkeypatch, evolve):
    monkeypatch.chdir(tmp_path)
    printed = evolve("new", "mine", OPENEVOLVE, DATA / "openevolve_cascade")
    assert "mine: a task made of initial_program.py, evaluator.py, config.yaml" in printed
    for key in ("checkpoint_interval", "llm.top_p", "prompt.num_top_programs", "database.population_size"):
        assert key in printed
    kept = "the system message (prompt.md); 60 s for one evaluation (task.yaml); generations 12, seed 7, patience 9, "
    assert f"  taken over: {kept}workers 4 (run.yaml); 2 models (comments in run.yaml)\n" in printed
    for key in ("timeout", "cascade_thresholds", "primary_model", "system_message", "max_iterations", "random_seed"):
        assert key not in printed
    assert (
        Path("mine/prompt.md").read_text() == "You choose weights of points.\nTheir mean should be near the target.\n"
    )
    limits = yaml.safe_load(Path("mine/task.yaml").read_text())["limits"]
    assert limits["wall_s"] == 60, "20 s for each of three stages"
    assert "THRESHOLDS = [0.5, 0.3, 0.9]  # " in Path("mine/evaluate.py").read_text()
    run = configured("mine/run.yaml")
    assert (run.generations, run.seed, run.patience, run.models) == (12, 7, 9, [])
    assert run.task == str(tmp_path / "mine")
    for name in ("evaluator.py", "points.csv", "shapes/targets.py"):
        assert (Path("mine/theirs") / name).read_bytes() == (DATA / "openevolve_cascade" / name).read_bytes()
    assert load_task("mine").self_judged
    assert "You choose weights" in load_task("mine").prompt_text


def test_what_the_page_lists_a_counterpart_for_is_converted_or_listed_to_be_set_by_hand(theirs, evolve):
    small(
        theirs,
        config="""
evaluator: {parallel_evaluations: 3}
diff_based_evolution: false
prompt: {num_top_programs: 4, template_dir: t, num_of_ours: 1}
database: {num_islands: 3}
""",
    )
    printed = evolve("new", "mine", OPENEVOLVE, theirs)
    assert configured("mine/run.yaml").workers == 3
    assert "parallel_evaluations" not in printed
    assert "not taken over: diff_based_evolution (set search.kinds by hand)" in printed
    assert "not taken over: prompt.num_top_programs (set search.inspirations by hand)" in printed
    assert "not taken over: prompt.template_dir (set prompts_dir by hand)" in printed
    assert "prompt.num_of_ours (the rest of a prompt comes from templates" in printed
    shutil.rmtree("theirs")
    theirs.mkdir()
    small(
        theirs,
        initial="initial.py",
        evaluator="evaluate.py",
        config="""
evo_config:
  max_parallel_jobs: 5
  patch_types: [diff, full]
  patch_type_probs: [0.5, 0.5]
  max_patch_resamples: 3
  max_patch_attempts: 3
  llm_models: [m]
  llm_kwargs: {max_tokens: 99, temperatures: [0.0, 0.5], reasoning_efforts: [low]}
  code_embed: {a: 1, b: 2}
max_proposal_jobs: 5000
db_config: {num_archive_inspirations: 4, num_top_k_inspirations: 2, num_islands: 2}
""",
    )
    printed = evolve("new", "other", SHINKA, theirs)
    run = configured("other/run.yaml")
    assert (run.workers, run.parallel) == (5, 1024)
    assert "evo_config.patch_types, evo_config.patch_type_probs (set search.kinds by hand)" in printed
    assert "evo_config.max_patch_resamples, evo_config.max_patch_attempts (set attempts by hand)" in printed
    assert "evo_config.llm_kwargs.temperatures (set temperature of each model by hand)" in printed
    assert "evo_config.llm_kwargs.reasoning_efforts, evo_config.code_embed (there is no counterpart)" in printed
    assert "num_archive_inspirations, db_config.num_top_k_inspirations (set search.inspirations by hand)" in printed
    assert "db_config.num_islands (parents, islands and archives" in printed
    assert "llm_kwargs.max_tokens" not in printed


def test_a_folder_that_is_renamed_is_the_same_task(theirs, evolve):
    small(theirs)
    evolve("new", "2 of mine", OPENEVOLVE, theirs)
    before = load_task("2 of mine")
    Path("2 of mine").rename("renamed")
    after = load_task("renamed")
    assert (before.name, after.name) == ("2-of-mine", "2-of-mine")
    assert before.digest == after.digest


def test_models_are_left_to_be_confirmed_and_are_right_as_they_stand(tmp_path, monkeypatch, evolve):
    monkeypatch.chdir(tmp_path)
    evolve("new", "mine", OPENEVOLVE, DATA / "openevolve_cascade")
    first, second = configured(yaml.safe_load(with_models(Path("mine/run.yaml").read_text()))).models
    assert (first.model, first.weight, first.base_url) == ("a-model", 0.8, "https://models.example/v1")
    assert (second.model, second.weight) == ("b-model", 0.2)
    assert (first.temperature, first.max_tokens, first.api_key_env) == (0.7, 4096, "OPENAI_API_KEY")
    evolve("new", "other", SHINKA, DATA / "shinka_numpy")
    text = with_models(Path("other/run.yaml").read_text()).replace("budget_usd: 0.5\n", "")
    run = configured(yaml.safe_load(text))
    assert [model.model for model in run.models] == ["a-model", "b-model"]
    assert (run.models[1].base_url, run.models[1].api_key_env) == ("http://localhost:11434/v1", None)
    assert (run.meta_model, run.meta_every, run.generations) == ("a-model", 5, 15)


@pytest.mark.parametrize("section", ["llm: {api_key: %s}", "llm: {models: [{name: m, api_key: %s}]}"])
def test_a_key_is_never_copied(theirs, evolve, section):
    small(theirs, config=section % "sk-or-secret")
    evolve("new", "mine", OPENEVOLVE, theirs)
    shutil.rmtree("mine")
    (theirs / ".env").write_text("KEY=sk-or-secret")
    (theirs / "config_other.yaml").write_text("llm: {api_key: sk-or-secret}")
    printed = evolve("new", "mine", OPENEVOLVE, theirs)
    assert not any(b"sk-or-secret" in path.read_bytes() for path in Path("mine").rglob("*") if path.is_file())
    assert "sk-or-secret" not in printed
    assert "left out: .env (hidden)" in printed


def test_a_key_that_names_a_variable_becomes_its_name(theirs, evolve):
    small(theirs, config="llm: {primary_model: m, api_key: '${MY_KEY}'}")
    assert "is not copied" not in evolve("new", "mine", OPENEVOLVE, theirs)
    (model,) = configured(yaml.safe_load(with_models(Path("mine/run.yaml").read_text()))).models
    assert model.api_key_env == "MY_KEY"


def test_nothing_of_a_folder_is_run_when_it_is_read(tmp_path, monkeypatch, evolve):
    monkeypatch.chdir(tmp_path)
    printed = evolve("new", "mine", SHINKA, DATA / "shinka_cpp")
    assert not Path("ran.txt").exists()
    assert "evo_config.llm_dynamic_selection" in printed
    assert Path("mine/prompt.md").read_text() == "Add numbers. Do not leave any of them out.\n"
    assert "wall_s: 60," in Path("mine/task.yaml").read_text()
    printed = evolve("new", "other", SHINKA, DATA / "shinka_numpy")
    assert "not taken over: evo_config.results_dir (computed when it is run)" in printed
    assert Path("other/prompt.md").read_text() == "Fit a line.\nMove the offset.\n"
    assert "ARGUMENTS = {'level': 2}" in Path("other/evaluate.py").read_text()


def test_what_a_script_spells_out_stands_above_the_yaml_file(theirs, evolve):
    small(theirs, initial="initial.py", evaluator="evaluate.py")
    (theirs / "shinka_small.yaml").write_text("evo_config: {num_generations: 3, task_sys_msg: from the file}")
    (theirs / "run.py").write_text(
        "import core\nG = 5\nconfig = core.EvolutionConfig(num_generations=G + 1, task_sys_msg='a' + 'b')"
    )
    printed = evolve("new", "mine", SHINKA, theirs)
    assert "shinka_small.yaml and run.py" in printed
    assert "run.py: not taken over: evo_config.num_generations (computed" in printed
    assert configured("mine/run.yaml").generations == 3
    assert Path("mine/prompt.md").read_text() == "ab\n"


def test_a_program_without_markers_may_change_as_a_whole(theirs, evolve):
    small(theirs)
    (theirs / "initial_program.py").write_text("A = 1\n")
    printed = evolve("new", "mine", OPENEVOLVE, theirs)
    assert "initial_program.py has no EVOLVE-BLOCK markers: all of it may change" in printed
    found = Path("mine/initial_program.py").read_text()
    assert [region.text for region in evolve_regions(found)] == [found] == ["A = 1\n"]


def test_of_what_lies_there_only_what_an_evaluator_may_need_is_taken(theirs, evolve, tmp_path):
    small(theirs)
    (tmp_path / "outside.txt").write_text("not yours")
    for name in (
        "__pycache__/a.pyc",
        ".git/config",
        "openevolve_output/best/x.py",
        "results_7/log.txt",
        "my_env/pyvenv.cfg",
    ):
        (theirs / name).parent.mkdir(parents=True, exist_ok=True)
        (theirs / name).write_text("")
    (theirs / "deep/er").mkdir(parents=True)
    (theirs / "deep/er/data.json").write_text("{}")
    (theirs / "inside.json").symlink_to("deep/er/data.json")
    (theirs / "outside.txt").symlink_to(tmp_path / "outside.txt")
    (theirs / "gone").symlink_to("nowhere")
    (theirs / "round").symlink_to(".")
    os.mkfifo(theirs / "pipe")
    printed = evolve("new", "mine", OPENEVOLVE, theirs)
    found = {path.relative_to("mine/theirs").as_posix() for path in Path("mine/theirs").rglob("*") if not path.is_dir()}
    assert found == {"initial_program.py", "evaluator.py", "deep/er/data.json", "inside.json"}
    assert not any(path.is_symlink() for path in Path("mine").rglob("*"))
    for name in (
        "__pycache__",
        ".git",
        "openevolve_output",
        "results_7",
        "my_env",
        "outside.txt",
        "gone",
        "round",
        "pipe",
    ):
        assert name in printed.split("evolve score")[0]


def test_imports_that_an_evaluator_lacks_are_listed(theirs, evolve):
    small(theirs)
    (theirs / "evaluator.py").write_text(
        "import json, numpy, no_such_package.part, helper\nfrom openevolve.evaluation_result import EvaluationResult\n"
        "from openevolve.llm import LLM\ntry:\n    import may_be_missing\nexcept ImportError:\n    pass\n"
        "def evaluate(path): ...\ndef draw():\n    import drawing_package, no_such_package\n"
    )
    (theirs / "helper.py").write_text("import another_missing\n")
    (theirs / "unused.py").write_text("import nobody_asks\n")
    printed = evolve("new", "mine", OPENEVOLVE, theirs)
    assert "not installed here: another_missing, no_such_package, openevolve.llm: install it first" in printed
    assert "not installed here: drawing_package; only functions import it" in printed


def test_several_configurations_are_not_guessed_at_and_each_command_is_printed(theirs, evolve):
    small(theirs)
    for phase in (1, 2):
        (theirs / f"config_phase_{phase}.yaml").write_text(
            f"max_iterations: {phase}\nprompt: {{system_message: phase {phase}}}"
        )
    printed = evolve("new", "mine", OPENEVOLVE, theirs, code=2)
    assert "theirs: holds 2 configurations; choose one with --config FILE" in printed
    assert not Path("mine").exists()
    commands = [line.partition(" new ")[2].split() for line in printed.splitlines() if " new " in line]
    assert len(commands) == 2
    evolve("new", *commands[1])
    assert configured("mine/run.yaml").generations == 2
    assert Path("mine/prompt.md").read_text() == "phase 2\n"
    assert "new mine --from-openevolve theirs --config config_phase_1.yaml" in evolve(
        "run", "theirs/config_phase_1.yaml", code=2
    )
    (theirs / "config_phase_1.yaml").rename(theirs / "config.yaml")
    printed = evolve("new", "other", OPENEVOLVE, theirs)
    assert "not read: config_phase_2.yaml (config.yaml was read; choose another with --config FILE)" in printed
    assert configured("other/run.yaml").generations == 1
    Path("elsewhere.yaml").write_text("max_iterations: 7")
    evolve("new", "third", OPENEVOLVE, theirs, "--config", "elsewhere.yaml")
    assert configured("third/run.yaml").generations == 7
    assert "there is no such file" in evolve("new", "fourth", OPENEVOLVE, theirs, "--config", "gone.yaml", code=2)
    assert "goes with --from-openevolve" in evolve("new", "fourth", "--config", "elsewhere.yaml", code=2)


def test_of_several_scripts_one_is_chosen_too(theirs, evolve):
    small(theirs, initial="initial.py", evaluator="evaluate.py")
    for number in (1, 2):
        (theirs / f"run_{number}.py").write_text(f"EvolutionConfig(num_generations={number})")
    (theirs / "shinka.yaml").write_text("evo_config: {task_sys_msg: from the file}")
    assert "--config run_1.py" in evolve("new", "mine", SHINKA, theirs, code=2)
    evolve("new", "mine", SHINKA, theirs, "--config", "run_2.py")
    assert configured("mine/run.yaml").generations == 2
    assert Path("mine/prompt.md").read_text() == "from the file\n"


@pytest.mark.parametrize(
    "script",
    [
        'config["evo_config"]["task_sys_msg"] = MESSAGE\n    EvolutionConfig(**config["evo_config"])',
        "evo_config.task_sys_msg = MESSAGE\n    EvolutionConfig",
        "EvolutionConfig(task_sys_msg=MESSAGE)",
    ],
)
def test_a_system_message_that_a_script_assigns_is_kept(theirs, evolve, script):
    small(theirs, initial="initial.py", evaluator="evaluate.py")
    (theirs / "shinka_small.yaml").write_text("evo_config: {num_generations: 3, task_sys_msg: the file's}")
    (theirs / "run_evo.py").write_text(
        f'MESSAGE = """Pack\nwell."""\ndef main(config):\n    {script}  # EvolutionConfig(\n'
    )
    printed = evolve("new", "mine", SHINKA, theirs)
    assert Path("mine/prompt.md").read_text() == "Pack\nwell.\n"
    assert configured("mine/run.yaml").generations == 3
    assert "computed" not in printed
    assert "no system message" not in printed


@pytest.mark.parametrize("first", ["", "prompt: {system_message: system_message}\n"])
def test_a_system_message_may_stand_with_the_models(theirs, evolve, first):
    small(theirs, config=f"{first}llm: {{system_message: Sort fast.}}\n")
    printed = evolve("new", "mine", OPENEVOLVE, theirs)
    assert Path("mine/prompt.md").read_text() == "Sort fast.\n"
    assert "system_message" not in printed
    (theirs / "config.yaml").write_text("llm: {system_message: Sort fast.}\nprompt: {system_message: Sort well.}\n")
    printed = evolve("new", "other", OPENEVOLVE, theirs)
    assert Path("other/prompt.md").read_text() == "Sort well.\n"
    assert "llm.system_message (set prompt.md by hand)" in printed


@pytest.mark.parametrize(
    ("file", "text", "line"),
    [
        ("run_evo.py", "import x\nTASK_SYS_MSG = (\n'a')\nEvolutionConfig(task_sys_msg=TASK_SYS_MSG + f())", 2),
        ("deeper/config.yaml", "prompt:\n  system_message: |\n    Sort.\n", 2),
        ("notes.py", "config['evo_config']['task_sys_msg'] = f'{x}'\n", 1),
    ],
)
def test_where_no_system_message_was_found_the_place_of_one_is_named(theirs, evolve, file, text, line):
    small(theirs, initial="initial.py", evaluator="evaluate.py")
    (theirs / file).parent.mkdir(exist_ok=True)
    (theirs / file).write_text(text)
    printed = evolve("new", "mine", SHINKA, theirs)
    assert f"no system message found ({file}, line {line}, may hold one): write the task into prompt.md" in printed


def test_a_target_score_of_theirs_is_no_patience(theirs, evolve):
    small(theirs, config="early_stopping_patience: -1")
    assert "not taken over: early_stopping_patience -1" in evolve("new", "mine", OPENEVOLVE, theirs)
    assert configured("mine/run.yaml").patience is None


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("max_iterations: many", "config.yaml: max_iterations must be a whole number from 1, not 'many'"),
        ("max_iterations: 0", "max_iterations must be a whole number from 1, not 0"),
        ("evaluator: {timeout: -3}", "evaluator.timeout must be a number above 0, not -3"),
        ("evaluator: {timeout: .nan}", "evaluator.timeout must be a number above 0, not nan"),
        ("evaluator: {cascade_thresholds: 0.5}", "evaluator.cascade_thresholds must be a list of numbers, not 0.5"),
        ("evaluator: {cascade_thresholds: [high]}", "evaluator.cascade_thresholds must be a list of numbers"),
        ("evaluator: {cascade_evaluation: 1}", "evaluator.cascade_evaluation must be true or false, not 1"),
        ("evaluator: {cascade_thresholds: [.inf]}", "evaluator.cascade_thresholds must be a list of numbers"),
        (
            "evaluator: {evaluator_args: {day: 2024-05-01}}",
            "evaluator.evaluator_args must be a mapping of names to plain",
        ),
        (
            "evaluator: {evaluator_args: {level: [.nan]}}",
            "evaluator.evaluator_args must be a mapping of names to plain",
        ),
        ("evaluator: 3", "evaluator must be a section with keys, not 3"),
        ("llm: {models: [a]}", "llm.models must be a list of models, each with a name, not 'a'"),
        ("prompt: {system_message: [a]}", "prompt.system_message must be a text, not ['a']"),
        ("- a\n- b", "must be a mapping"),
        ("a: [", "is not valid YAML"),
        ("a: 1\na: 2", "key 'a' stands twice"),
    ],
)
def test_a_wrong_configuration_is_one_sentence(theirs, evolve, config, why):
    small(theirs, config=config)
    printed = evolve("new", "mine", OPENEVOLVE, theirs, code=2)
    assert why in printed
    assert len(printed.strip().splitlines()) == 1
    assert not Path("mine").exists()


@pytest.mark.parametrize(
    ("option", "files", "why"),
    [
        (OPENEVOLVE, {}, "holds no evaluator (evaluator.py nor evaluate.py)"),
        (OPENEVOLVE, {"evaluator.py": "def evaluate(p): ..."}, "holds no initial program (initial_program.<"),
        (OPENEVOLVE, {"evaluator.py": "def score(p): ..."}, "evaluator.py: defines no function evaluate(program_path)"),
        (OPENEVOLVE, {"evaluator.py": "def evaluate(p:"}, "evaluator.py: is not a Python program"),
        (SHINKA, {"initial.py": ""}, "holds no evaluator (evaluate.py)"),
        (SHINKA, {"evaluate.py": ""}, "holds no initial program (initial.<suffix>)"),
        (SHINKA, {"evaluate.py": "", "initial.rs": "", "initial.go": ""}, "holds initial.go, initial.rs; keep"),
        (SHINKA, {"evaluate.py": "", "initial.py": "def f(:"}, "initial.py: line 1: not valid Python"),
        (SHINKA, {"evaluate.py": "", "initial.py": "# EVOLVE-BLOCK-START"}, "without an EVOLVE-BLOCK-END after it"),
        (SHINKA, {"evaluate.py": "", "initial.py": "", "run_evo.py": "EvolutionConfig("}, "run_evo.py: is not a"),
        (SHINKA, {"evaluate.py": "", "initial.py": "", "shinka.yaml": "job_config: {time: soon}"}, "such as 00:10:00"),
    ],
)  # fmt: skip
def test_a_missing_piece_is_one_sentence(theirs, evolve, option, files, why):
    for name, content in files.items():
        (theirs / name).write_text(content)
    printed = evolve("new", "mine", option, theirs, code=2)
    assert why in printed
    assert len(printed.strip().splitlines()) == 1
    assert not Path("mine").exists()


def test_a_folder_that_is_none_or_too_large_or_there_already_is_refused(theirs, evolve):
    assert "is not a folder" in evolve("new", "mine", OPENEVOLVE, "nowhere", code=2)
    small(theirs)
    Path("mine").mkdir()
    assert "mine exists already; choose another folder" in evolve("new", "mine", OPENEVOLVE, theirs, code=2)
    with (theirs / "data.bin").open("wb") as file:
        file.truncate(70 * 2**20)
    assert "MB without caches and results" in evolve("new", "other", OPENEVOLVE, theirs, code=2)
    assert not Path("other").exists()
    with pytest.raises(SystemExit) as ended:
        evolve("new", "other", OPENEVOLVE, theirs, SHINKA, theirs)
    assert ended.value.code == 2


def test_the_language_that_a_configuration_names_chooses_among_programs(theirs, evolve):
    small(theirs, config="file_suffix: .rs")
    (theirs / "initial_program.rs").write_text("fn main() {}\n")
    evolve("new", "mine", OPENEVOLVE, theirs)
    assert load_task("mine").initial.name == "initial_program.rs"


def test_templates_of_other_systems_are_no_kinds_of_task(evolve):
    assert {"openevolve", "shinka"} <= {path.name for path in TEMPLATES.iterdir()}
    with pytest.raises(SystemExit):
        evolve("new", "mine", "--kind", "shinka")


@pytest.mark.parametrize(
    ("option", "name", "score"),
    [
        (OPENEVOLVE, "openevolve_cascade", 0.5714285714285714),
        (OPENEVOLVE, "openevolve_plain", (1 / 1.5 + 1 / 4) / 2),
        (SHINKA, "shinka_numpy", -2.0),
        (SHINKA, "shinka_cpp", 1 / 50),
    ],
)
def test_what_was_made_scores_its_initial_program(tmp_path, monkeypatch, evolve, option, name, score):
    monkeypatch.chdir(tmp_path)
    evolve("new", "mine", option, DATA / name)
    initial = load_task("mine").initial
    command = [sys.executable, "mine/evaluate.py", initial, "result.json"]
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(Path("result.json").read_text())
    assert (found["correct"], found["combined_score"]) == (True, score)
    assert "secret" not in json.dumps({**found, "private": None})


def test_run_shows_the_way_from_another_systems_files(theirs, evolve):
    small(theirs, config="max_iterations: 5\nllm: {primary_model: m}\n")
    new = "new mine --from-openevolve theirs"
    assert new in evolve("run", "theirs/config.yaml", code=2)
    assert new in evolve("run", "--task", "theirs", code=2)
    assert new in evolve("run", "theirs", code=2)
    assert new in evolve("new", "mine", SHINKA, theirs, code=2)
    evolve("new", "mine", OPENEVOLVE, theirs)
    assert "run mine/run.yaml" in evolve("run", "mine", code=2)
    Path("mine/run.yaml").unlink()
    assert "run --task mine" in evolve("run", "mine", code=2)


def test_run_shows_the_way_from_shinkaevolves_files(tmp_path, monkeypatch, evolve):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(DATA / "shinka_cpp", "theirs")
    new = "new mine --from-shinka theirs"
    for name in Path("theirs").glob("*.yaml"):
        assert new in evolve("run", name, code=2)
    assert new in evolve("run", "--task", "theirs", code=2)
    assert new in evolve("new", "mine", OPENEVOLVE, "theirs", code=2)


def test_a_mistake_in_ones_own_configuration_is_reported_as_before(theirs, evolve):
    for text in ("generatoins: 5\n", "generations: 5\nprompt: be brief\n"):
        (theirs / "run.yaml").write_text(text)
        printed = evolve("run", "theirs/run.yaml", code=2)
        assert "unknown key" in printed
        assert "--from-openevolve" not in printed
