"""A table of the shipped optima is named as what it is, and solves nothing; honest programs are not accused."""

import dataclasses
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from evaluator import tasks
from evaluator.evaluation import Evaluation
from evaluator.evaluator import SandboxedEvaluator
from evaluator.fresh import compared, draw_suite
from evaluator.overfitting import CostPairs, overfitted
from evaluator.places import PROGRAMS
from evaluator.task import Suite
from evaluator.task_files import load_task
from evolve.archive.reader import RunReader
from evolve.archive.reports import markdown
from evolve.cli.main import main
from tests.builders import one_file
from tests.loop.leaking import ROUND, SECOND, configure, events

TASKS = Path(tasks.__file__).parent
PLACEMENT = PROGRAMS / "placement"
TASK = dataclasses.replace(load_task("placement"), packages=())  # no program here needs numpy
HONEST = sorted((PLACEMENT / "baselines").glob("*.py"))
SAID = "OVERFITTED"


def lookup_table(*suites: str) -> str:
    """The initial program, with the shipped optima of the suites in front of it."""
    table = {
        repr([tuple(model) for model in instance.data["models"]]): instance.best_answer
        for suite in suites
        for instance in TASK.suite(suite).instances
    }
    head, _, rest = (PLACEMENT / "initial.py").read_text().partition("# EVOLVE-BLOCK-START\n")
    block = rest.partition("# EVOLVE-BLOCK-END")[0].replace("def compute_model_placement", "def fallback")
    return f"""{head}# EVOLVE-BLOCK-START
TABLE = {table!r}

{block}
def compute_model_placement(gpu_num, models):
    known = TABLE.get(repr([(m.model_size, m.req_rate, m.slo) for m in models]))
    if known is None:
        return fallback(gpu_num, models)
    return {{gpu: [models[index] for index in on] for gpu, on in known}}
# EVOLVE-BLOCK-END
"""


def configured(folder: Path, *programs: str) -> str:
    answers = [
        f"<NAME> number_{n} </NAME>\n<DESCRIPTION> d </DESCRIPTION>\n<CODE>\n{text}</CODE>\n"
        for n, text in enumerate(programs)
    ]
    (folder / "script.yaml").write_text(yaml.safe_dump({"answers": answers, "meta": [ROUND] * 3}))
    document = {
        "generations": len(answers) + 1,
        "parallel": 1,
        "workers": 1,
        "meta_every": 1,
        "models": [{"model": f"scripted:{folder / 'script.yaml'}"}],
        "search": {"elites": 1, "kinds": {"diff": 0.0, "full": 1.0, "cross": 0.0, "fix": 0.0}},
    }
    path = folder / "config.yaml"
    path.write_text(yaml.safe_dump(document))
    return str(path)


@pytest.fixture(scope="module")
def looked_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("looked_up")
    (folder / "lookup.py").write_text(lookup_table("adrs"))
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(folder)
        yield folder


@pytest.fixture(scope="module")
def output(looked_up: Path) -> str:
    from contextlib import redirect_stdout

    with (looked_up / "out").open("w") as out, redirect_stdout(out):
        code = main(["run", configured(looked_up, lookup_table("adrs")), "--name", "r"])
    assert code == 1
    return (looked_up / "out").read_text()


def test_it_is_shown_while_the_run_goes_on_and_at_its_end_and_nothing_is_solved(output: str) -> None:
    live, _, closing = output.partition("Not solved: suite adrs cannot be scored higher")
    assert f"{SAID}  generation 1 scores 26.255972" in live
    assert "0 of 48 held-out ones" in live
    assert "new best" not in output
    assert "Solved:" not in output
    assert f"WARNING   generation 1, the best, is {SAID}: it gains on the suite only" in closing
    assert "fresh      failed: sample 1: correct on all 10 fresh instances (seed " in closing
    assert "; sample 2, which counts: correct on all 10 fresh instances (seed " in closing
    assert closing.count("), overfitted; compared with the initial program: 0 better, 10 equal, 0 worse") == 2


def test_the_record_holds_it_and_who_reads_it_is_shown(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    initial, table = events("r", ["held_out"])
    assert (initial["generation"], initial["overfitted"]) == (0, None)
    assert table["costs"] == initial["costs"]
    assert len(table["costs"]) == 50
    with RunReader.open(Path("runs/r")) as archive:
        assert archive.finished == "unconfirmed"
        assert archive.best is not None
        why = archive.best.overfitted
        assert why == table["overfitted"]
    for words in (["list", "r", "--json"], ["show", "r", "best", "--json"], ["list", "--json"]):
        assert main(words) == 0
        output = json.loads(capsys.readouterr().out)
        assert (output["runs"][0] if "runs" in output else output)["overfitted"] == why
    for words in (["list", "r"], ["show", "r", "best"]):
        assert main(words) == 0
        assert "gains on the suite only" in capsys.readouterr().out


@pytest.mark.slow
def test_fresh_instances_are_drawn_twice_for_a_best_that_fails_and_are_no_part_of_the_fingerprint(
    output: str, looked_up: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = events("r", ["fresh"])
    for fresh in samples:
        assert (fresh["generation"], fresh["better"], fresh["equal"], fresh["worse"]) == (1, 0, 10, 0)
        assert fresh["overfitted"] is not None
    assert main(["resume", "r"]) == 1
    assert len(events("r", ["fresh"])) == len(samples) == 2
    assert main(["run", str(looked_up / "config.yaml"), "--name", "again"]) == 1
    assert events("again", ["fresh"])[0]["seed"] != fresh["seed"]
    with RunReader.open(Path("runs/r")) as one, RunReader.open(Path("runs/again")) as other:
        assert one.fingerprint() == other.fingerprint()
    capsys.readouterr()
    assert main(["score", "lookup.py", "--fresh", "10", "--seed", fresh["seed"], "--json"]) == 0
    row = next(row for row in json.loads(capsys.readouterr().out) if row["program"] == "lookup.py")
    assert row["against_initial"] == {"better": 0, "equal": 10, "worse": 0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("unknown", "verdict"),
    [
        ("return fallback(gpu_num, models)", SAID),
        pytest.param("raise MemoryError", "is not correct on adrs-holdout", marks=pytest.mark.nightly),
    ],
    ids=["gains nothing there", "fails there"],
)
def test_without_a_held_out_suite_an_overfitting_run_is_the_same_run(
    unknown: str, verdict: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commit for commit, prompt for prompt, report for report, to the recorded reason why it ended."""
    monkeypatch.chdir(tmp_path)
    table = lookup_table("adrs").replace("return fallback(gpu_num, models)", unknown)
    partial = lookup_table("adrs").replace("if known is None:", "if known is None or models[0].model_size == 24:")
    path = Path(configured(tmp_path, partial, table))
    assert main(["run", str(path), "--name", "seen"]) == 1
    assert verdict in capsys.readouterr().out
    document = yaml.safe_load(path.read_text()) | {"task": str(without_held_out(tmp_path))}
    path.write_text(yaml.safe_dump(document))
    assert main(["run", str(path), "--name", "blind"]) == 1
    assert len(events("seen", ["held_out"])) >= 2  # one that another overtakes is not confirmed
    assert not events("blind", ["held_out"])
    seen, blind = history("seen"), history("blind")
    assert seen == blind
    prompts, reports = seen[1], seen[2]
    assert len(prompts) >= 4
    assert len(reports) >= 2


def without_held_out(folder: Path) -> Path:
    """A copy of the task whose suite has no held-out suite."""
    copy = folder / "placement"
    shutil.copytree(TASKS / "placement", copy)
    text = (copy / "task.yaml").read_text(encoding="utf-8")
    (copy / "task.yaml").write_text(text.replace("    held_out: adrs-holdout\n", ""), encoding="utf-8")
    return copy


def history(name: str) -> tuple[list[object], list[str], list[str], list[str]]:
    """What a run decided, what it sent, what it wrote of itself, and why it ended."""
    keys = ("event", "generation", "kind", "model", "parents", "inspirations", "guidance", "commit", "answer")
    decided = [{key: event[key] for key in keys if key in event} for event in events(name, ["asked", "evaluated"])]
    with RunReader.open(Path("runs") / name) as archive:
        prompts = [archive.text(event["prompt"]) for event in events(name, ["asked", "meta_answered"])]
        reports = [markdown(report) for report in archive.meta.reports.values()]
    return list(decided), prompts, reports, [event["reason"] for event in events(name, ["stopped"])]


def test_a_table_that_fails_elsewhere_is_found_too() -> None:
    blind = lookup_table("adrs").replace("return fallback(gpu_num, models)", "raise KeyError(gpu_num)")
    sources = [(PLACEMENT / "initial.py").read_text(), blind]
    here, there = (scored(sources, name) for name in ("adrs", "adrs-holdout"))
    assert overfitted(between(here, 1, TASK.suite("adrs")), between(there, 1, TASK.suite("adrs-holdout")), called="")


def between(found: list[Evaluation], place: int, suite: Suite) -> CostPairs:
    return compared([result.cost for result in found[0].results], found[place], suite)


def scored(sources: list[str], suite: str) -> list[Evaluation]:
    with SandboxedEvaluator(TASK, TASK.suite(suite), workers=1) as evaluator:
        return [evaluator.evaluate(one_file(source)) for source in sources]


@pytest.mark.parametrize(
    "suite", ["adrs", *(pytest.param(name, marks=pytest.mark.slow) for name in ("tight", "skewed"))]
)
def test_no_honest_program_is_accused(suite: str) -> None:
    sources = [path.read_text() for path in (PLACEMENT / "initial.py", *HONEST)]
    fresh = draw_suite(TASK, TASK.suite(suite), 10, "honest")
    with SandboxedEvaluator(TASK, fresh, workers=1) as evaluator:
        again = [evaluator.evaluate(one_file(source)) for source in sources]
    here, there = (scored(sources, name) for name in (suite, f"{suite}-holdout"))
    assert len(here) == len(HONEST) + 1 > 3
    for place in range(1, len(sources)):
        on_suite = between(here, place, TASK.suite(suite))
        on_held_out = between(there, place, TASK.suite(f"{suite}-holdout"))
        assert overfitted(on_suite, on_held_out, called="") is None, HONEST[place - 1]
        assert overfitted(on_suite, between(again, place, fresh), called="") is None, HONEST[place - 1]


def test_what_asks_for_endless_memory_elsewhere_is_overfitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    greedy = "bytearray(1 << 40)  # no memory for an instance that is not known"
    table = lookup_table("adrs").replace("return fallback(gpu_num, models)", greedy)
    assert main(["run", configured(tmp_path, table), "--name", "r"]) == 1
    output = capsys.readouterr().out
    assert "Solved" not in output
    assert f"WARNING   generation 1, the best, is {SAID}: it gains on the suite only" in output
    with RunReader.open(Path("runs/r")) as archive:
        assert archive.finished == "unconfirmed"
        assert archive.best is not None and archive.best.overfitted is None  # the held-out suite accuses nobody of it


@pytest.mark.parametrize(
    ("unknown", "expected"),
    [
        ("return fallback(gpu_num, models)", f"the best, is {SAID}: it gains on the suite only"),
        pytest.param("raise MemoryError", f"the best, is {SAID}: it gains on the suite only", marks=pytest.mark.slow),
    ],
    ids=["falls back", "claims a limit"],
)
def test_a_table_of_suite_and_held_out_that_the_fresh_instances_show_is_not_called_solved(
    unknown: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    table = lookup_table("adrs", "adrs-holdout").replace("return fallback(gpu_num, models)", unknown)
    assert main(["run", configured(tmp_path, table), "--name", "r"]) == 1
    output = capsys.readouterr().out
    assert expected in output
    assert "Solved" not in output
    assert "Not solved: suite adrs cannot be scored higher" in output
    with RunReader.open(Path("runs/r")) as archive:
        assert archive.finished == "unconfirmed"


def test_fresh_instances_are_a_function_of_the_seed_and_like_those_of_the_suite() -> None:
    for name in TASK.suites:
        suite = TASK.suite(name)
        drawn = draw_suite(TASK, suite, 3, "a")
        assert [i.data for i in drawn.instances] == [i.data for i in draw_suite(TASK, suite, 5, "a").instances[:3]]
        assert drawn.instances[0].data != draw_suite(TASK, suite, 1, "b").instances[0].data
        assert drawn.instances[0].data.keys() == suite.instances[0].data.keys()
        assert drawn.limits == suite.limits


def test_a_task_without_a_recipe_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    task = Path(__file__).parent.parent / "data" / "leaky"
    program = str(task / "initial.py")
    assert main(["score", program, "--task", str(task), "--fresh", "3"]) == 2
    output = capsys.readouterr().err
    assert "has no recipe to draw fresh instances by" in output
    assert output.count("\n") == 1
    assert main(["score", program, "--seed", "x"]) == 2
    assert main(["score", program, "--fresh", "3", "--strict"]) == 2
    assert main(["run", configure(tmp_path, {"second": SECOND}), "--name", "r"]) == 0
    (fresh,) = events("r", ["fresh"])
    assert (fresh["state"], fresh["instances"]) == ("not_available", 0)
    assert "the task has no recipe" in fresh["why"]
