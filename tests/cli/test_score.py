import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evaluator.places import PROGRAMS
from tests.loop.climbing import ROOT, start, wait_until

PLACEMENT = PROGRAMS / "placement"
KEYS = {
    *("program", "task", "suite", "correct", "outcome", "combined_score", "published_score", "ceiling", "gap"),
    *("quarantined", "quarantine", "metrics", "failures", "sandbox"),
    *("best_known", "gap_to_best_known", "self_judged", "metric", "direction", "value", "beyond_best_known"),
    *("spread", "confirmed"),
}
# Places the models in turn, but leaves the last one out of the instances with more than 12 models.
DROPS_MODELS = """
def compute_model_placement(gpu_num, models):
    kept = models if len(models) <= 12 else models[:-1]
    free = [80] * gpu_num
    placement = {gpu: [] for gpu in range(gpu_num)}
    for model in sorted(kept, key=lambda m: -m.model_size):
        gpu = max(range(gpu_num), key=free.__getitem__)
        free[gpu] -= model.model_size
        placement[gpu].append(model)
    return placement
"""
RAISES = """
def compute_model_placement(gpu_num, models):
    raise ValueError("red\\x1b[31m\\nevolve: all is well " + "x" * 1000000)
"""


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Writes programs into the test's own folder and gives their names."""
    monkeypatch.chdir(tmp_path)

    def write(**sources):
        for name, source in sources.items():
            Path(f"{name}.py").write_bytes(source if isinstance(source, bytes) else source.encode())
        return [f"{name}.py" for name in sources]

    return write


def test_the_initial_program_has_its_published_score_and_the_proven_ceiling(evolve_json):
    (row,) = evolve_json("score", str(PLACEMENT / "initial.py"))
    assert set(row) == KEYS
    assert set(row["metrics"]) == {"max_kvpr_inverse", "success_rate", "runtime_s", "optimality"}
    assert row["combined_score"] == pytest.approx(21.8916, abs=1e-3)
    assert row["ceiling"] == pytest.approx(26.255972, abs=1e-6)
    assert row["gap"] == row["ceiling"] - row["combined_score"]
    assert (row["task"], row["suite"], row["outcome"], row["correct"]) == ("placement", "adrs", "ok", True)
    assert (row["quarantined"], row["quarantine"], row["failures"]) == (False, None, [])
    assert row["metrics"]["runtime_s"] > 0


def test_any_file_gets_its_verdict_in_the_order_given(programs, evolve_json):
    names = programs(
        bad_syntax="def compute_model_placement(:\n",
        other_name="def place(gpu_num, models):\n    return {}\n",
        empty="",
        no_text=b"\xff\xfe\x00def",
        drops=DROPS_MODELS,
        nothing="def compute_model_placement(gpu_num, models):\n    return None\n",
    )
    document = evolve_json("score", *names)
    assert [row["program"] for row in document] == names
    assert [row["outcome"] for row in document[:4]] == ["load_error"] * 4
    assert [row["outcome"] for row in document[4:]] == ["invalid_output"] * 2
    assert all(not row["correct"] and row["combined_score"] < 1 for row in document)
    assert all(row["failures"] for row in document[4:])
    assert set(document[4]["failures"][0]) == {"instance", "outcome", "detail"}
    assert "left out" in document[4]["failures"][0]["detail"]
    assert 0 < len(document[4]["failures"]) < 50


def test_the_table_tells_the_first_failing_instances(programs, evolve):
    names = programs(drops=DROPS_MODELS, other_name="x = 1\n")
    text = evolve("score", *names)
    assert "drops.py" in text
    assert "invalid_output: " in text
    assert "more of 50 instances failed" in text
    assert "load_error: " in text
    assert "26.255972" in text


def test_a_file_in_an_older_encoding_is_read_as_python_reads_it(programs, evolve_json):
    source = (PLACEMENT / "initial.py").read_text().encode()
    names = programs(latin=b"# -*- coding: latin-1 -*-\n# \xe9\xff\n" + source)
    assert evolve_json("score", *names)[0]["outcome"] == "ok"


def test_an_exception_cannot_write_to_the_terminal(programs, evolve, evolve_json):
    names = programs(raises=RAISES)
    text = evolve("score", *names)
    assert "\x1b" not in text
    assert "\nevolve: all is well" not in text
    assert len(text) < 20_000
    (row,) = evolve_json("score", *names)
    assert row["outcome"] == "exception"
    assert len(json.dumps(row)) < 2_000_000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.py"], "missing.py: cannot be read"),
        (["."], "is not a file"),
        (["good.py", "--suite", "nosuch"], "has no suite 'nosuch'"),
        (["good.py", "--task", "nosuch"], "there is no task 'nosuch'"),
        (["x" * 5000], "cannot be read"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_scored(programs, evolve, words, message):
    programs(good="def compute_model_placement(gpu_num, models):\n    return {}\n")
    text = evolve("score", "good.py", *words, code=2)
    assert message in text
    assert text.count("\n") == 1


def test_a_file_that_is_no_text_is_called_that_and_not_shown(programs, evolve, evolve_json):
    names = programs(image=b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4, text="x = 1\n")
    assert [row["outcome"] for row in evolve_json("score", *names)] == ["load_error", "load_error"]
    shown = evolve("score", names[0])
    assert "load_error: not text: byte 0 of the file is not UTF-8" in shown
    assert len(shown) < 600
    assert "not text" not in evolve("score", names[1])


def test_every_suite_can_be_scored_at_once_and_shows_how_far_it_is(tmp_path, monkeypatch, on_terminal):
    monkeypatch.chdir(tmp_path)
    task = Path(__file__).resolve().parent.parent / "data" / "online"
    screen = on_terminal("score", str(task / "initial.py"), "--task", str(task), "--suite", "all", "--json")
    assert "scored 0 of 2, now online/small" in screen
    assert "scored 1 of 2, now online/holdout" in screen
    rows = json.loads(screen[screen.index("[\n") :])
    assert [(row["suite"], row["correct"]) for row in rows] == [("small", True), ("holdout", True)]


def test_strict_says_what_a_program_depends_on_and_what_other_orders_do(programs, evolve, evolve_json):
    tie_break = "key=lambda m: (-m.model_size, m.model_name)"
    names = programs(
        initial=(PLACEMENT / "initial.py").read_text(),
        by_name=DROPS_MODELS.replace("models[:-1]", "models").replace("key=lambda m: -m.model_size", tie_break),
        broken="def compute_model_placement(:\n",
    )
    initial, by_name, broken = evolve_json("score", "--strict", *names, code=1)
    assert set(initial) == KEYS | {"strict"}
    assert (initial["strict"]["agrees"], initial["strict"]["classification"]) == (True, None)
    confirmed = initial["confirmed"]
    assert confirmed == initial["strict"]["confirmed"]
    assert confirmed["low"] < confirmed["median"] < confirmed["high"] < confirmed["low"] + 2
    assert confirmed["n"] == 5
    assert (by_name["strict"]["agrees"], by_name["strict"]["classification"]) == (False, "depends_on_names")
    assert by_name["confirmed"] is by_name["strict"]["confirmed"] is None
    assert (by_name["outcome"], by_name["correct"]) == ("nondeterministic", False)
    assert broken["strict"] is None
    text = evolve("score", "--strict", names[1], code=1)
    assert "depends on names" in text
    assert by_name["strict"]["detail"] in text
    text = evolve("score", "--strict", names[0], names[2])  # what does not load has nothing that could disagree
    assert "agrees" in text
    assert "21.7847 to 22.1051, median 22.0127" in text  # as docs/scores.md says


@pytest.mark.parametrize("strict", [[], ["--strict"]], ids=["plain", "strict"])
def test_ctrl_c_ends_long_candidates_at_once(tmp_path, strict):
    shutil.copytree(Path(__file__).parent.parent / "data" / "smallest", tmp_path / "task")
    settings = tmp_path / "task" / "task.yaml"
    text = settings.read_text()
    assert "cpu_per_instance_s: 0.4, cpu_total_s: 1.0" in text
    settings.write_text(text.replace("0.4", "600").replace("1.0", "600"))
    begun = tmp_path / "begun"
    judge = (
        (tmp_path / "task" / "judge.py")
        .read_text()
        .replace("    items = ", f"    open({str(begun)!r}, 'w')\n    items = ")
    )
    (tmp_path / "task" / "judge.py").write_text(judge)
    for name in "abc":  # answers the first instance
        (tmp_path / f"{name}.py").write_text("def smallest(items):\n    while len(items) == 2: pass\n    return 0\n")
    out, err = tmp_path / "out", tmp_path / "err"
    words = ["score", "a.py", "b.py", "c.py", "--task", "task", *strict]
    process = start(tmp_path, words, {**os.environ, "PYTHONPATH": str(ROOT)}, out=out, err=err)
    wait_until(begun.exists, process)
    os.kill(process.pid, signal.SIGINT)
    process.join(30)
    assert (process.exitcode, out.read_text(), err.read_text()) == (130, "", "evolve: interrupted\n")


def test_ctrl_c_is_heard_while_an_exact_solver_searches(tmp_path, started):
    pytest.importorskip("ortools")
    command = [sys.executable, "-u", "-m", "evolve", "score", str(PLACEMENT / "initial.py"), "--suite", "skewed"]
    process = started([*command, "--baseline", "exact"], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while b"cp_model" not in Path(f"/proc/{process.pid}/maps").read_bytes():
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(0.5)  # 30 instances of up to 11 s: it is in one of them
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "evolve: interrupted\n")


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ("def judge(instance, answer):\n    return 1 / 0\n", "judge.py line 2, judge(): raised ZeroDivisionError"),
        ("def judge(instance, answer):\n    return None\n", "judge(): returned None (NoneType), not an int"),
        ("nonsense\n", "judge.py line 1, while it was loaded: raised NameError"),
    ],
)
def test_a_mistake_in_a_judge_is_one_sentence(tmp_path, monkeypatch, evolve, judge, message):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(Path(__file__).parent.parent / "data" / "curve", "task")
    Path("task/judge.py").write_text(judge)
    text = evolve("score", "task/initial.py", "--task", "task", code=2)
    assert message in text
    assert text.count("\n") == 1
