"""Whole runs with a scripted model: the insights reports steer the prompts, and the record stands in the documents."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.archive.reports import InsightsReport, markdown, shown
from tests.loop.climbing import (
    configure,
    count,
    events,
    evolve,
    finish,
    in_fork,
    kill,
    opened,
    patch,
    script,
    wait_until,
)
from tests.loop.metas import ROUNDS, a_meta

DATA = Path(__file__).parent.parent / "data" / "run"


def thirty_answers() -> list[Any]:
    """Generations 1 to 16 climb (5 fails, 8 works at its second attempt), 17 to 20 fail in four ways, 21 climbs."""
    answers: list[Any] = [patch(1 + generation / 100, name=f"step_{generation}") for generation in range(1, 31)]
    answers[4] = patch("OFFSET = None", name="no_offset", why="Perhaps it is not needed.")
    answers[7] = ["I would rather talk about it.", patch(1.08, name="step_8")]
    answers[16] = patch("OFFSET = 'far'", name="a_word")
    answers[17] = patch(1).replace("# next\n=", "# nowhere\n=")
    answers[18] = patch(-3.5, name="step_back")
    answers[19] = patch("OFFSET -= 0  # nothing", name="nothing").replace("OFFSET -= 0  # nothing\n", "")
    return answers


@pytest.fixture(scope="module")
def thirty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run `r` of 30 generations and insights reports after 7, 14, 21 and 28 programs."""
    folder = tmp_path_factory.mktemp("thirty")
    models = [script(folder, thirty_answers(), [a_meta(number) for number in range(1, 6)])]
    config = configure(folder, models=models, generations=30, meta_every=7)
    finish(folder, "run", config, "--name", "r")
    return folder


def golden(name: str, text: str) -> None:
    if "UPDATE_GOLDEN" in os.environ:
        DATA.mkdir(exist_ok=True)
        (DATA / name).write_text(text, encoding="utf-8")
    assert text == (DATA / name).read_text(encoding="utf-8")


def test_the_reports_are_the_golden_ones(thirty: Path) -> None:
    with opened(thirty) as archive:
        reports = archive.meta.reports
        assert list(reports) == [7, 14, 21, 28]
    documents = {number: markdown(report) for number, report in reports.items()}
    for number, report in reports.items():
        assert (thirty / "runs" / "r" / "meta" / f"meta_{number}.md").read_text() == documents[number]
        assert len(report.summaries) == 7
        assert all(report.scratchpad.sections)
        assert len(report.recommendations) == 2
    golden("meta_7.md", documents[7])
    golden("meta_14.md", documents[14])


def test_a_prompt_holds_what_was_learnt_and_what_failed(thirty: Path) -> None:
    with opened(thirty) as archive:
        (attempt,) = archive.attempts(21)
        assert attempt.prompt is not None
        prompt = archive.text(attempt.prompt)
        assert attempt.guidance is not None
        assert attempt.guidance["document"] == 14
        assert archive.find(attempt.parent).generation == 16
    ideas = [f"**Idea {letter} of round {word}**" for word in ROUNDS[:3] for letter in "AB"]
    chosen = "AB"[attempt.guidance["recommendation"] - 1]
    assert [idea for idea in ideas if idea in prompt] == [f"**Idea {chosen} of round two**"]
    assert "| - Round two of insights: one step a patch is enough." in prompt
    tried = prompt.split("# What was already tried in this run")[1].split("# The program to improve")[0]
    rows = re.findall(r"^\| (\d+)( from \d+)?, (\w+): (.*)$", tried, re.MULTILINE)
    assert [int(number) for number, *_ in rows] == [20, 19, 18, 17, 5]  # 1 to 16 but for 5 are the program's own line
    assert [parent for _, parent, *_ in rows] == ["", "", "", "", " from 4"]
    assert [name for _, _, name, _ in rows] == ["nothing", "step_back", "a_step", "a_word", "no_offset"]
    results = [result for *_, result in rows]
    assert results[0].startswith("refused (no_change): ")
    assert re.fullmatch(r"0\.4797 worse", results[1])
    assert results[2].startswith("refused (no_match): Block 1 of 1: its SEARCH text is not in the")
    assert results[3].startswith("not correct (exception): instance 0: TypeError: unsupported operand type(s) for +")
    golden("prompt_21.txt", prompt)


def test_what_a_prompt_says_of_its_parent_and_of_earlier_tries_is_what_stands_on_record(thirty: Path) -> None:
    stated = 0
    with opened(thirty) as archive:
        for generation in range(1, 31):
            for attempt in archive.attempts(generation):
                prompt = archive.text(attempt.prompt or "")
                parent = archive.find(attempt.parent)
                made = re.search(r"- made from generation (\d+): (\S+ better)", prompt)
                assert (made is None) == (not parent.parents)
                if made is not None:
                    assert made[2] == worded(archive, parent)
                    assert int(made[1]) == archive.find(parent.parents[0]).generation
                    stated += 1
                for number, change in re.findall(r"^\| (\d+).*: (\S+ (?:better|worse))$", prompt, re.MULTILINE):
                    assert change == worded(archive, archive.find(number))
                    stated += 1
                assert not re.search(r"[ (][+-]\d", prompt.split("# The program to")[0].split("REPLACE\n</DIFF>")[1])
                assert "CPU in all below 0.05 of 5 s; CPU on the slowest instance below 0.02 of 2 s" in prompt
    assert stated > 20


def worded(archive: RunReader, program: ProgramRecord) -> str:
    change = program.combined_score - archive.find(program.parents[0]).combined_score
    return f"{abs(change):.4f} {'better' if change > 0 else 'worse'}"


def test_a_models_own_figures_are_replaced_in_the_document(thirty: Path) -> None:
    with opened(thirty) as archive:
        report = archive.meta.reports[7]
        corrections = archive.meta.corrections[7]
    text = markdown(report)
    assert "38.38" not in text
    assert (
        "- **No offset**: generation 5 (failed: TypeError) is a breakthrough with a combined score of [unverified]."
        in text
    )
    assert "99" not in text
    failed = next(summary for summary in report.summaries if summary.generation == 5)
    assert not failed.correct
    assert shown(failed.performance).startswith("generation 5 (failed: TypeError): `line 14, in guess")
    assert any("unverified figure: 38.38" in note for note in corrections)
    assert any("no such generation: - **Miracles**: [gen 99]" in note for note in corrections)


def test_the_notes_go_back_to_their_writer_and_to_the_proposals_with_figures(thirty: Path) -> None:
    with opened(thirty) as archive:
        asked = {e["key"]: archive.text(e["prompt"]) for e in events(thirty) if e["event"] == "meta_answered"}
        (attempt,) = archive.attempts(21)
        prompt = archive.text(attempt.prompt or "")
    shown = "| - **Steps down**: every step down gained, the first generation 0 to 1 (11 -> 11.1020, 0.1020 better).\n"
    assert shown in asked["meta/2/insights/1/0"]
    assert shown in prompt


def test_insights_tells_documents_and_which_prompts_held_them(thirty: Path) -> None:
    def output(*words: str) -> Any:
        return json.loads(evolve(thirty, "insights", "r", "--json", *words).stdout)

    now = output()
    assert (now["document"], now["documents"], now["run"]) == (28, [7, 14, 21, 28], "r")
    before = output("--at", "20")
    assert before["document"] == 14
    assert set(before["scratchpad"]) == {
        "preface",
        "successful_algorithmic_patterns",
        "ineffective_approaches",
        "implementation_insights",
        "performance_analysis",
    }
    guided = sorted(g for item in before["recommendations"] for g in item["generations"])
    assert 21 in guided
    assert before["recommendations"][0]["text"].startswith("**Idea A of round two**")
    assert before["corrections"]
    whole = evolve(thirty, "insights", "r", "--at", "14", "--all").stdout
    assert whole == (thirty / "runs/r/meta/meta_14.md").read_text()
    assert "the first came after 7" in evolve(thirty, "insights", "r", "--at", "6").stderr


@pytest.mark.parametrize("columns", [2, 12])
def test_insights_on_a_terminal_that_is_narrower_than_a_word_show_its_beginning(thirty: Path, columns: int) -> None:
    lines = evolve(thirty, "insights", "r", environment={"COLUMNS": str(columns)}).stdout.splitlines()
    cut = [line.strip() for line in lines if line.endswith("…")]
    assert len(cut) > 3
    assert "…" not in cut


def test_insights_in_short_are_15_lines_and_name_the_way_to_the_whole_report(thirty: Path) -> None:
    output = evolve(thirty, "insights", "r", "--at", "14")
    lines = output.stdout.splitlines()
    assert len(lines) + len(output.stderr.splitlines()) <= 15
    assert lines[0] == "r: the insights report after 14 programs, in short"
    headings = [line for line in lines[1:] if not line.startswith(" ")]
    assert headings == ["What helped", "What did not help", "What is next"]
    assert re.fullmatch(r"  generation \d+, [\d.]+ better: .+", lines[lines.index("What helped") + 1])
    assert lines[lines.index("What is next") + 1].startswith("  Idea A of round two")
    assert "--all --at 14" in lines[-1]


def test_show_tells_every_attempt_and_every_call(thirty: Path) -> None:
    attempts = json.loads(evolve(thirty, "show", "r", "8", "--json").stdout)["attempts"]
    assert [attempt["reason"] for attempt in attempts] == ["no_patch", None]
    assert [[call["status"] for call in attempt["calls"]] for attempt in attempts] == [["stop"], ["stop"]]
    prompt = evolve(thirty, "show", "r", "8", "--prompt").stdout
    assert "I would rather talk about it." in prompt
    assert attempts[0]["message"] in prompt.replace("\n| ", "\n")
    assert evolve(thirty, "show", "r", "8", "--answer").stdout == patch(1.08, name="step_8")


@pytest.mark.slow
@pytest.mark.parametrize("killed_at", [(61,), pytest.param((25, 61, 100, 140), marks=pytest.mark.slow)])
def test_two_runs_and_one_that_was_killed_are_equal(thirty: Path, tmp_path: Path, killed_at: tuple[int, ...]) -> None:
    models = [script(tmp_path, thirty_answers(), [a_meta(number) for number in range(1, 6)])]
    config = configure(tmp_path, models=models, generations=30, meta_every=7)
    process = in_fork(tmp_path, "run", config, "--name", "r")
    for lines in killed_at:
        wait_until(lambda lines=lines: len(events(tmp_path)) >= lines, process)  # type: ignore[misc]
        kill(process)
        process = in_fork(tmp_path, "resume", "r")
    process.join(60)
    assert process.exitcode == 0, (tmp_path / "out.txt").read_text()
    assert count(tmp_path, "resumed") >= len(killed_at)
    with opened(thirty) as whole, opened(tmp_path) as killed:
        assert killed.fingerprint() == whole.fingerprint()
        assert killed.meta.reports == whole.meta.reports


def test_a_meta_answer_that_cannot_be_used_leaves_the_document_before_it(tmp_path: Path) -> None:
    broken = a_meta(2) | {"insights": {"error": "server_error"}}
    models = [script(tmp_path, thirty_answers(), [a_meta(1), broken, a_meta(3)])]
    finish(tmp_path, "run", configure(tmp_path, models=models, generations=12, meta_every=4), "--name", "r")
    with opened(tmp_path) as archive:
        assert list(archive.meta.reports) == [4, 12]
    output = [event for event in events(tmp_path) if event["event"] == "summarised"]
    assert [event["report"] is None for event in output] == [False, True, False]
    assert [problem["step"] for problem in output[1]["problems"]] == ["insights"]
    assert len(InsightsReport.model_validate(output[2]["report"]).summaries) == 8
