"""What the pages say of a run: the words that the terminal has for it, in a real browser."""

import csv
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from evaluator.evaluation import headline_of_error
from evolve.archive.events import AuditedEvent, FreshEvent, FreshState
from evolve.archive.reader import RunReader
from evolve.cli.main import main
from evolve.core.program import PatchKind
from evolve.review.generations import csv_text
from evolve.trust import note_audit
from evolve.view.payload import run_document
from tests.loop.climbing import configure, evolve, meta_answer, patch, script
from tests.reports import citing
from tests.view.looking import reported, texts_of

WARNED = "generation 1, the best, is not correct on fresh instances: its gains are not known to hold there."


def _fresh(run: Any, generation: int) -> None:
    known = {"generation": generation, "suite": "s", "instances": 3, "better": 3, "correct": False}
    for seed in ("5", "6"):
        run.archive.add(FreshEvent(state=FreshState.FAILED, seed=seed, **known))


def test_a_best_that_fails_on_fresh_instances_is_warned_of_wherever_its_value_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chromium: Any, recorded_runs, make_evaluation
) -> None:
    runs = {}
    for name in ("one", "two"):
        runs[name] = run = recorded_runs(name)
        best = run.propose(1, [run.initial()], source="b = 1\n", evaluation=make_evaluation(score=24.0))
        if name == "one":
            _fresh(run, best.generation)
    file = reported(runs, tmp_path, monkeypatch)
    table, first, second, compared = texts_of(chromium, file, ["", "run/one", "run/two", "compare/one+two"])
    assert WARNED in first and WARNED in compared
    assert "⚠ 24" in table and "⚠ warning" in table and table.count("⚠") == 2
    assert "no check failed" not in first
    assert "no check failed" in second and "⚠" not in second


def test_what_fell_in_an_audit_is_struck_through_with_the_measured_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chromium: Any, recorded_runs, make_evaluation
) -> None:
    run = recorded_runs("audited")
    run.propose(1, [run.initial()], source="b = 1\n", evaluation=make_evaluation(score=24.0))
    fallen: Any = {"generation": 1, "claimed": 24.0, "measured": 21.5, "why": "another cost"}
    run.archive.add(AuditedEvent(evaluator_version="v1", sandbox="strong", holds=(0,), falls=(fallen,), unjudged=()))
    note_audit(run.archive.reader)
    file = reported({"audited": run}, tmp_path, monkeypatch)
    views = ["run/audited", "run/audited/generations", "run/audited/program/1"]
    first, generations, program = texts_of(chromium, file, views)
    assert "⚠ 1 claim falls" in first and "claims that hold 1, that fall 1, not judged 0" in first
    assert "the best, did not hold in the audit" in first
    assert ": claimed, measured" in first
    assert all("24 21.500000" in text for text in (first, generations, program)), (first, generations, program)
    assert "; another cost" in program
    page = chromium.new_page()
    page.goto(f"file://{file}#/run/audited/generations")
    assert page.locator("s").all_inner_texts() == ["24"]
    page.close()


def test_held_out_values_stand_on_the_curve_next_to_a_ceiling_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chromium: Any, recorded_runs, make_evaluation
) -> None:
    runs = {}
    for name in ("bounded", "unbounded"):
        runs[name] = run = recorded_runs(name)
        best = run.propose(1, [run.initial()], source="b = 1\n", evaluation=make_evaluation(score=24.0))
        there = make_evaluation(score=22.5)
        run.archive.held_out(
            best.generation, there if name == "bounded" else replace(there, ceiling=None), overfitted=None
        )
    file = reported(runs, tmp_path, monkeypatch)
    bounded, gap, unbounded = texts_of(chromium, file, ["run/bounded", "run/bounded?up=gap", "run/unbounded"])
    ceiling = make_evaluation(score=22.5).ceiling
    assert f"held-out ceiling {ceiling:g}" in bounded
    assert "held-out ceiling" not in gap
    legend = "best so far\nheld-out"
    assert [legend in text for text in (bounded, gap, unbounded)] == [True, True, False]


@pytest.mark.parametrize(
    ("task", "words"),
    [("cant_be_late", "proven, but it may be out of reach"), ("placement", "proven to be the optimum")],
)
def test_a_bound_that_is_no_optimum_is_proven_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chromium: Any, task: str, words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["run", "--task", task, "--generations", "1", "--name", "one", "--workers", "1"]) == 0
    assert main(["report", "runs/one", "-o", "report.html"]) == 0
    (about,) = texts_of(chromium, tmp_path / "report.html", ["run/one/about"])
    assert f", {words}\n" in about


ERROR = "ValueError: no GPU has room for model_24 (67 GB)"
TRACEBACK = (
    f"Traceback (lines of the program):\n  line 27, in place: raise ValueError(what)\n{ERROR}\non instance 1 of 2"
)


def test_a_failure_is_shown_by_what_was_raised(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    chromium: Any,
    recorded_runs,
    make_evaluation,
) -> None:
    run = recorded_runs("fails")
    failing = replace(make_evaluation((Fraction(1), None), score=0.5), detail=TRACEBACK)
    run.propose(1, [run.initial()], source="b = 1\n", evaluation=failing, description="it widens the search")
    file = reported({"fails": run}, tmp_path, monkeypatch)
    failures, program = texts_of(chromium, file, ["run/fails/failures", "run/fails/program/1"])
    assert ERROR in failures and "it widens the search" not in failures
    assert ERROR in program and "it widens the search" in program
    assert "1 of 2 instances succeeded" in program
    capsys.readouterr()
    assert main(["list", "fails", "--failed"]) == 0
    assert ERROR in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TRACEBACK, ERROR),
        (
            "Traceback (most recent call last):\n  a\nKeyError: 1\n\nDuring that:\n\nTraceback (x):\n  b\nOSError: 2",
            "OSError: 2",
        ),
        ("no patch\nTraceback is a word", "no patch"),
        ("Traceback (cut off):", "Traceback (cut off):"),
        ("", ""),
    ],
)
def test_the_headline_of_a_text(text: str, line: str) -> None:
    assert headline_of_error(text) == line


def test_the_first_correct_program_after_an_initial_one_that_fails_is_a_gain(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    chromium: Any,
    recorded_runs,
    make_evaluation,
) -> None:
    run = recorded_runs("repaired")
    initial = run.initial(evaluation=make_evaluation((Fraction(1), None), score=0.5))
    first = run.propose(1, [initial], source="b = 1\n", evaluation=make_evaluation(score=24.5), name="first")
    run.propose(2, [first], source="b = 2\n", evaluation=make_evaluation(score=25.0), name="second")
    document = run_document("repaired", run.archive.reader)
    assert [(row["name"], row["improved"]) for row in document["yields"] if row["by"] == "kind"] == [("diff", 2)]
    file = reported({"repaired": run}, tmp_path, monkeypatch)
    (text,) = texts_of(chromium, file, ["run/repaired"])
    assert "first correct, 24.5" in text
    assert "0.5000 better" in text
    capsys.readouterr()
    assert main(["lineage", "repaired", "best"]) == 0
    assert capsys.readouterr().out.count("first correct") >= 1


def test_a_crossover_is_held_against_the_best_program_that_it_saw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chromium: Any, recorded_runs, make_evaluation
) -> None:
    run = recorded_runs("crossed")
    initial = run.initial(evaluation=make_evaluation(score=20.0))
    seen = run.propose(1, [initial], source="b = 1\n", evaluation=make_evaluation(score=24.0))
    better = make_evaluation(score=25.0)
    run.propose(2, [initial], source="b = 2\n", evaluation=better, kind=PatchKind.CROSS, inspirations=[seen])
    file = reported({"crossed": run}, tmp_path, monkeypatch)
    way, program = texts_of(chromium, file, ["run/crossed", "run/crossed/program/2"])
    for text in (way, program):
        assert "1 better than generation 1" in " ".join(text.split())


def test_the_tree_says_of_what_is_folded_only_that_it_led_to_no_new_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chromium: Any, recorded_runs, make_evaluation
) -> None:
    """Of the folded ones here, one is better than its parent."""
    run = recorded_runs("tree")
    initial = run.initial(evaluation=make_evaluation(score=20.0))
    run.propose(1, [initial], source="b = 1\n", evaluation=make_evaluation(score=24.0))
    for number in range(2, 62):
        score = 21.0 if number == 2 else 19.0
        run.propose(number, [initial], source=f"b = {number}\n", evaluation=make_evaluation(score=score))
    file = reported({"tree": run}, tmp_path, monkeypatch)
    page = chromium.new_page()
    page.goto(f"file://{file}#/run/tree/tree")
    stub = page.locator(".stub").first
    stub.wait_for()
    assert "60 proposals, none on the way to a new best" in stub.text_content()
    assert "60 proposals of 61 led to no new best and are folded" in page.inner_text("main")
    clipped = "() => { const [own, all] = ['.stub-text', '.tree'].map((q) => document.querySelector(q)"
    assert page.evaluate(f"{clipped}.getBoundingClientRect()); return own.right <= all.right; }}")
    page.close()


def test_a_diff_numbers_the_lines_of_both_sides_in_columns_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chromium: Any, recorded_runs, make_evaluation
) -> None:
    run = recorded_runs("differs")
    before = "".join(f"a = {number}\n" for number in range(12))
    initial = run.initial(before)
    after = before.replace("a = 4\n", "").replace("a = 10\n", "a = 10\nb = 1\n")
    run.propose(1, [initial], source=after, evaluation=make_evaluation(score=24.0))
    file = reported({"differs": run}, tmp_path, monkeypatch)
    page = chromium.new_page()
    page.goto(f"file://{file}#/run/differs/program/1?show=diff")
    page.locator(".diff .line").first.wait_for()
    numbers = page.evaluate("[...document.querySelectorAll('.diff .line')].map((line) => line.dataset.lines)")
    columns = [
        [int(text) for text in side if text.strip("\u00a0")]
        for side in zip(*(n.split(" ") for n in numbers), strict=True)
    ]
    assert columns[0] == sorted(set(columns[0])) and columns[1] == sorted(set(columns[1]))
    assert (5 in columns[0], 11 in columns[1]) == (True, True)
    assert len({len(text) for text in numbers}) == 1
    page.close()


def test_how_a_generation_was_asked_for_is_shown_by_its_page_and_by_show(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    chromium: Any,
    recorded_runs,
    make_evaluation,
) -> None:
    run = recorded_runs("asked")
    initial = run.initial()
    run.archive.summarised(1, citing(0))
    asked: list[dict[str, Any]] = [
        {"why": {"unguided": True}},
        {"guidance": {"document": 1}},
        {"guidance": {"document": 1, "recommendation": 1}},
    ]
    for number, how in enumerate(asked, 1):
        better = make_evaluation(score=22.0 + number)
        run.propose(number, [initial], source=f"b = {number}\n", evaluation=better, **how)
    shown = {
        1: "asked without guidance",
        2: "given the notes alone",
    }
    outcome = run_document("asked", run.archive.reader)["meta"][0]["recommendations"][0]["sentence"]
    file = reported({"asked": run}, tmp_path, monkeypatch)
    learnt, *pages = texts_of(chromium, file, ["run/asked/meta", *(f"run/asked/program/{n}" for n in (1, 2, 3))])
    assert "2 of 2 guided proposals improved, 0 of 0 unguided proposals improved: too few to say" in learnt
    assert outcome and outcome in " ".join(learnt.split())
    for number, words in shown.items():
        assert words in pages[number - 1]
        capsys.readouterr()
        assert main(["show", "asked", str(number)]) == 0
        assert words in " ".join(capsys.readouterr().out.split())
    assert "the notes alone of the insights report after 1" in pages[1]
    assert "recommendation 1 of the insights report after 1" in pages[2]


def test_esc_after_stepping_through_programs_leads_back_to_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chromium: Any, recorded_runs, make_evaluation
) -> None:
    run = recorded_runs("stepped")
    initial = run.initial()
    for number in range(1, 5):
        run.propose(number, [initial], source=f"b = {number}\n", evaluation=make_evaluation(score=20.0 + number))
    file = reported({"stepped": run}, tmp_path, monkeypatch)
    page = chromium.new_page()
    page.goto(f"file://{file}#/run/stepped/generations")
    page.locator("tbody a", has_text="1").first.click()
    page.get_by_role("heading", name="Generation 1").wait_for()
    for key, number in (("j", 2), ("j", 3), ("k", 2)):
        page.keyboard.press(key)
        page.get_by_role("heading", name=f"Generation {number}").wait_for()
    page.keyboard.press("Escape")
    page.locator("main[data-view=generations]").wait_for()
    page.close()


@pytest.mark.parametrize("meta", ["fails", "not_yet"])
def test_that_a_round_gave_no_insights_report_is_shown_as_the_command_tells_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    chromium: Any,
    meta: str,
) -> None:
    answers = [patch(1 + generation / 100, name=f"step_{generation}") for generation in range(1, 4)]
    rounds = [{"summaries": "no section at all", "insights": {"error": "timeout"}}]
    every = 3 if meta == "fails" else 7
    config = configure(tmp_path, models=[script(tmp_path, answers, rounds)], generations=3, meta_every=every)
    evolve(tmp_path, "run", config, "--name", "taught")
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert main(["insights", "taught"]) == 0
    printed = "".join(capsys.readouterr())
    assert ("The last round, after 3 programs, gave no report: insights:" in printed) is (meta == "fails")
    assert f"the first is due after {6 if meta == 'fails' else 7} programs, and there are 4" in printed
    assert main(["report", "taught", "-o", "taught.html"]) == 0
    for text in texts_of(chromium, tmp_path / "taught.html", ["run/taught", "run/taught/meta"]):
        shown = " ".join(text.split())
        for sentence in printed.removeprefix("taught: ").splitlines():
            assert f"{sentence[0].upper()}{sentence[1:]}" in shown
        assert "very ten programs" not in shown


def test_calls_of_a_scripted_model_stand_under_its_name_those_for_insights_reports_too(tmp_path: Path) -> None:
    answers, rounds = [patch(1.1)], [{"summaries": "no section at all", "insights": {"error": "timeout"}}]
    config = configure(tmp_path, models=[script(tmp_path, answers, rounds)], generations=1, meta_every=2)
    evolve(tmp_path, "run", config, "--name", "called")
    with RunReader.open(tmp_path / "runs" / "called") as archive:
        calls = run_document("called", archive)["calls"]
    assert {row["model"]: row["by_status"] for row in calls["models"]} == {"scripted": {"stop": 2, "timeout": 1}}


def test_patches_repairs_and_reports_are_distinguished_with_what_they_cost(tmp_path: Path) -> None:
    refused = patch(1.0).replace("# next\n=", "# nowhere\n=")
    paid = {"text": patch(1.2), "tokens_in": 100, "tokens_out": 10, "cost_usd": 0.25}
    report = {"text": meta_answer(""), "cost_usd": 0.5}
    rounds = [{"summaries": report, "insights": report}]
    config = configure(
        tmp_path, models=[script(tmp_path, [[refused, paid], refused], rounds)], generations=2, attempts=2, meta_every=2
    )
    evolve(tmp_path, "run", config, "--name", "apart")
    calls = "calls: 2 patches (0.0000 USD), 2 repairs (0.2500 USD), 2 insights reports (1.0000 USD)"
    assert calls in evolve(tmp_path, "list", "apart").stdout
    shown = json.loads(evolve(tmp_path, "list", "apart", "--json").stdout)
    assert [(one["kind"], one["total"], one["cost_usd"]) for one in shown["calls_by_kind"]] == [
        ("patch", 2, 0.0), ("repair", 2, 0.25), ("insights", 2, 1.0)
    ]  # fmt: skip
    assert sum(one["total"] for one in shown["calls_by_kind"]) == shown["model_calls"]
    assert [(one["calls"], one["repairs"], one["repairs_usd"]) for one in shown["generations"]] == [
        (0, 0, 0.0), (2, 1, 0.25), (2, 1, 0.0)
    ]  # fmt: skip
    with RunReader.open(tmp_path / "runs" / "apart") as archive:
        document = run_document("apart", archive)
        first, *rows = csv.DictReader(csv_text(archive).splitlines())
        assert [(row["calls"], row["retries"], row["repairs"], row["repairs_usd"]) for row in (first, *rows)] == [
            ("0", "0", "0", "0.0"), ("2", "0", "1", "0.25"), ("2", "0", "1", "0.0")
        ]  # fmt: skip
    (failure,) = document["failures"]
    assert (failure["reason"], failure["generations"], failure["again"]) == ("no_match", [2], [1, 2])
