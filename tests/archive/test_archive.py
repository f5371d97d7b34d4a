"""Records can be read back: by the writer, by a reader at the same time, and after opening."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from evaluator.evaluation import Outcome
from evolve.archive.archive import Archive
from evolve.archive.events import Status
from evolve.archive.layout import config_digest, write_config
from evolve.archive.reader import RunReader
from evolve.archive.records import Funnel
from evolve.core.completion import CallEvent, CallPhase, Completion, PatchKey
from evolve.core.errors import ArchiveError
from evolve.core.usage import Usage
from tests.archive.small_run import IDENTITY, answer, ask, evaluation, evolve_on, git, record
from tests.builders import make_question, make_record


def test_a_new_run_holds_its_configuration_and_identity(folder: Path) -> None:
    with Archive.create(folder, config_text="seed: 0  # ü\n", identity=IDENTITY) as archive:
        assert (archive.reader.config_text(), dict(archive.reader.identity)) == ("seed: 0  # ü\n", IDENTITY)
        assert (
            list(archive.reader.programs),
            archive.reader.best,
            archive.reader.next_generation,
            archive.reader.finished,
        ) == ([], None, 0, None)
    with RunReader.open(folder) as archive:
        assert (archive.config_text(), dict(archive.identity)) == ("seed: 0  # ü\n", IDENTITY)


def test_all_that_was_written_is_the_same_after_opening(make_run) -> None:
    path = make_run(generations=9)
    with Archive.open(path) as first:
        ask(first, 9, prompt="why?", estimate=0.5)
        seen = _everything(first.reader)
    with RunReader.open(path) as second:
        assert _everything(second) == seen
    assert seen["unfinished"]


def _everything(archive: RunReader) -> dict[str, object]:
    programs = list(archive.programs)
    return {
        "programs": programs,
        "loaded": [archive.load(program) for program in programs],
        "patches": [archive.patch_text(program) for program in programs],
        "evaluations": [archive.evaluation(program) for program in programs],
        "statuses": dict(archive.statuses),
        "attempts": [archive.attempts(generation) for generation in archive.statuses],
        "unfinished": archive.unfinished(),
        "orphans": archive.orphans(),
        "ended": list(archive.endings()),
        "funnel": archive.funnel,
        "spent": archive.spent.known_usd,
        "finished": archive.finished,
        "best": archive.best,
        "next": archive.next_generation,
        "fingerprint": archive.fingerprint(),
    }


def test_what_is_spent_is_summed_and_what_has_no_price_is_counted(folder: Path) -> None:
    def spent(archive: RunReader) -> tuple[float, int, int, int]:
        return (
            archive.spent.known_usd,
            archive.spent.unpriced,
            archive.spent.tokens,
            archive.spent.calls,
        )

    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        record(archive, 0)
        for generation, cost in ((1, 0.25), (2, None), (3, None)):
            ask(archive, generation, prompt="why?")
            usage = Usage(tokens_in=100, tokens_out=10, cost_usd=cost)
            archive.called(
                PatchKey(generation, 0), CallEvent(call=0, phase=CallPhase.CALLING, status="calling", usage=usage)
            )
            assert archive.reader.accounts.committed().known_usd == (cost or 0.0)
            if generation < 3:
                archive.answered(generation, 0, Completion(text="an answer", usage=usage))
        archive.lost(3, 0)
        assert spent(archive.reader) == (0.25, 2, 330, 3)
        assert archive.reader.spent.cost_usd is None
    with RunReader.open(folder) as archive:
        assert spent(archive) == (0.25, 2, 330, 3)


def test_a_client_may_state_its_times_with_any_call_and_as_any_number(folder: Path) -> None:
    key, limit_s = PatchKey(1, 0), float("inf")
    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        record(archive, 0)
        ask(archive, 1, prompt="why?")
        for phase, status in ((CallPhase.CALLING, "calling"), (CallPhase.FAILED, "timeout")):
            archive.called(key, CallEvent(call=0, phase=phase, status=status, limit_s=limit_s, again_in_s=-0.5))
    with RunReader.open(folder) as archive:
        calling, failed = archive.calls(key)
    assert calling.limit_s is not None
    assert (calling.again_in_s, failed.limit_s, failed.again_in_s) == (None, None, 0.0)


def test_the_reasoning_of_a_model_is_kept_with_its_answer(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        record(archive, 0)
        for generation, reasoning in ((1, "let me think"), (2, "")):
            ask(archive, generation, prompt="why?")
            archive.answered(generation, 0, Completion(text="an answer", reasoning=reasoning))
    with RunReader.open(folder) as archive:
        thought, silent = archive.attempts(1)[0].reasoning, archive.attempts(2)[0].reasoning
        assert thought is not None
        assert (archive.text(thought), silent) == ("let me think", None)
    assert git(folder, "show", "refs/evolve/attempts:000002-patch-1-0-reasoning.txt") == "let me think"


def test_a_reader_sees_whether_the_run_is_being_written_and_keeps_no_writer_out(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as writer:
        record(writer, 0)
        with RunReader.open(folder) as reader:
            assert reader.running
    with RunReader.open(folder) as reader:
        assert not reader.running
        with Archive.open(folder):
            assert reader.running
        stop = threading.Event()
        looking = threading.Thread(target=lambda: [reader.running for _ in iter(stop.is_set, True)])
        looking.start()
        try:
            for _ in range(50):
                Archive.open(folder).close()
        finally:
            stop.set()
            looking.join()


def test_every_generation_has_the_moment_of_its_status(make_run) -> None:
    with RunReader.open(make_run(generations=9)) as archive:
        assert set(archive.times) == set(archive.statuses)
        assert archive.began <= min(archive.times.values()) <= max(archive.times.values()) <= archive.newest


def test_sources_patches_and_evaluations_come_back_as_they_were(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        initial = record(archive, 0, source="a = 1\r\nb = 2", score=21.8916)
        ask(archive, 1)
        answer(archive, 1)
        child = record(
            archive, 1, parents=(initial.commit,), outcome=Outcome.TIMEOUT, detail="too slow", source="c = 3\n"
        )
        assert archive.reader.files(initial).only == "a = 1\r\nb = 2"
        assert (archive.reader.patch_text(initial), archive.reader.patch_text(child)) == ("", "<NAME> swap_two </NAME>")
        assert archive.reader.evaluation(child) == evaluation(21.5, Outcome.TIMEOUT, detail="too slow")
        assert (child.correct, child.outcome, child.metrics["runtime_s"]) == (False, Outcome.TIMEOUT, 0.25)
        assert archive.reader.seen(child.source_hash) == child
        assert archive.reader.seen("another") is None


def test_best_is_the_highest_correct_score_and_the_earlier_of_equals(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        root = record(archive, 0, score=20.0)
        for generation in (1, 2, 3, 4):
            ask(archive, generation)
            answer(archive, generation)
        record(archive, 2, parents=(root.commit,), score=25.0)
        assert archive.reader.best is not None
        assert archive.reader.best.generation == 2
        record(archive, 1, parents=(root.commit,), score=25.0, source="x")
        assert archive.reader.best.generation == 1, "recorded later, but the earlier generation"
        record(archive, 3, parents=(root.commit,), score=99.0, outcome=Outcome.INFEASIBLE, source="y")
        with pytest.raises(ValueError, match=r"`evaluation\.combined_score` is nan, and must be a finite number"):
            record(archive, 4, parents=(root.commit,), score=float("nan"), source="z")
        assert archive.reader.best.generation == 1


def test_an_answer_that_was_not_judged_is_handed_out_and_not_asked_for_again(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        record(archive, 0)
        ask(archive, 1, prompt="first prompt")
        answer(archive, 1, text="first answer", cost=0.25)
        archive.refused(1, 0, reason="no_match", message="look again", final=False)
        assert archive.reader.statuses[1] is Status.ASKED
        (waiting,) = archive.reader.unfinished()
        refusals = (("first answer", "look again", "no_match"),)
        assert (waiting.attempt, waiting.answer, waiting.refusals) == (1, None, refusals)
        ask(archive, 1, 1, prompt="second prompt")
        answer(archive, 1, 1, text="second answer", cost=0.5)
    with Archive.open(folder) as archive:
        (pending,) = archive.reader.unfinished()
        assert (pending.generation, pending.attempt, pending.answer.text) == (1, 1, "second answer")
        assert pending.refusals == refusals
        assert archive.reader.spent.known_usd == 0.75
        first, second = archive.reader.attempts(1)
        assert [archive.reader.text(first.prompt), archive.reader.text(second.prompt)] == [
            "first prompt",
            "second prompt",
        ]
        assert archive.reader.text(second.answer) == "second answer"
        archive.refused(1, 1, reason="truncated", message="cut off", final=True)
        assert (archive.reader.unfinished(), archive.reader.statuses[1]) == ([], Status.REFUSED)
        assert [ended.generation for ended in archive.reader.endings() if ended.program is None] == [1]
        assert archive.reader.funnel == Funnel(answered=2)


def test_a_question_that_was_cut_off_counts_at_its_estimate_once(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        record(archive, 0)
        ask(archive, 1, prompt="improve it", estimate=0.5)
    with Archive.open(folder) as archive:
        (orphan,) = archive.reader.orphans()
        archive.lost(orphan.generation, orphan.attempt)
        assert archive.reader.spent.known_usd == 0.5
        ask(archive, 1, prompt="improve it", estimate=0.5)
        answer(archive, 1, cost=0.25)
        assert archive.reader.spent.known_usd == 0.75
        assert archive.reader.orphans() == []


def test_what_is_out_of_order_is_refused_and_not_written(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        root = record(archive, 0)
        before = archive.reader.fingerprint()
        for wrong in (
            lambda: answer(archive, 1),
            lambda: record(archive, 0),
            lambda: record(archive, 1, parents=("f" * 40,)),
            lambda: archive.lost(1, 0),
            lambda: archive.refused(0, 0, reason="x", message="", final=True),
        ):
            with pytest.raises(ValueError, match="generation"):
                wrong()
        assert archive.reader.fingerprint() == before
    assert root.generation == 0


def test_a_reader_during_the_writing_sees_what_was_recorded_so_far(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as writer:
        evolve_on(writer, 4, prompts=False)
        with RunReader.open(folder) as reader:
            seen = reader.fingerprint()
            assert seen == writer.reader.fingerprint()
            ask(writer, writer.reader.next_generation)
            assert reader.fingerprint() == seen
            assert [reader.files(program).only for program in reader.programs]
        with RunReader.open(folder) as reader:
            assert reader.fingerprint() == writer.reader.fingerprint() != seen


def test_a_second_writer_is_refused_and_learns_who_writes(make_run) -> None:
    path = make_run(generations=2)
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, pathlib\nfrom evolve.archive.archive import Archive\n"
            "a = Archive.open(pathlib.Path(sys.argv[1]))\nprint('open', flush=True)\nsys.stdin.read()",
            str(path),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"open\n"
        with pytest.raises(ArchiveError, match=rf"is being written by process {holder.pid}\b"):
            Archive.open(path)
        RunReader.open(path).close()
    finally:
        holder.kill()
        holder.communicate()
    with Archive.open(path) as archive:  # its lock went with it
        with pytest.raises(ArchiveError, match="is being written"):
            Archive.open(path)
        archive.stopped("here")


def test_a_program_is_found_by_best_generation_and_commit(make_run) -> None:
    with RunReader.open(make_run(generations=7)) as archive:
        one = archive.find("1")
        assert one.generation == 1
        assert archive.find(one.commit) == archive.find(one.commit[:12].upper()) == one
        assert archive.find("best") == archive.best
        for name, message in (
            ("3", r"generation 3 made no program \(duplicate\); it has 6, of generations 0 to 6"),
            ("7", "generation 7 was not begun"),
            ("9" * 7, "generation 9999999 was not begun"),
            ("9" * 5000, "there is no program '9999"),
            ("zebra", "there is no program 'zebra'"),
            ("", "there is no program"),
            ("\x1b[2J", r"no program '\\x1b\[2J'"),
        ):
            with pytest.raises(ArchiveError, match=message):
                archive.find(name)


def test_eight_digits_are_a_commit_and_fewer_a_generation(make_run) -> None:
    with RunReader.open(make_run(generations=2)) as archive:
        digits = make_record(77, commit=f"12345678{'a' * 32}")
        archive.programs.append(digits)
        assert archive.find("12345678") is archive.find("12345678a") is digits
        with pytest.raises(ArchiveError, match="generation 1234567 was not begun"):
            archive.find("1234567")


def test_an_ambiguous_commit_names_those_it_could_be(make_run) -> None:
    with RunReader.open(make_run(generations=24)) as archive:
        letters = [program.commit[0] for program in archive.programs]
        twice = next(c for c in letters if letters.count(c) > 1 and not c.isdigit())
        with pytest.raises(ArchiveError, match=r"commits begin with .*generation \d+\).*give more letters"):
            archive.find(twice)


def test_no_best_before_the_first_correct_program(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        with pytest.raises(ArchiveError, match=r"no correct program yet.*it has no programs"):
            archive.reader.find("best")
        record(archive, 0, outcome=Outcome.EXCEPTION)
        with pytest.raises(ArchiveError, match="no correct program yet"):
            archive.reader.find("best")
        assert archive.reader.find("0").outcome is Outcome.EXCEPTION


def test_questions_that_are_asked_again_leave_no_second_trace(folder: Path) -> None:
    """Two are open when the run is cut off; asked again in the same words, git holds what it held."""
    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        record(archive, 0)
        ask(archive, 1, prompt="one")
        ask(archive, 2, prompt="two")
    before = git(folder, "for-each-ref")
    with Archive.open(folder) as archive:
        whole = archive.reader.fingerprint()
        for generation, prompt in ((1, "one"), (2, "two")):
            archive.lost(generation, 0)
            ask(archive, generation, prompt=prompt)
        assert archive.reader.fingerprint() == whole
    assert git(folder, "for-each-ref") == before
    with Archive.open(folder) as archive:
        archive.lost(1, 0)
        ask(archive, 1, prompt="in other words")
        assert archive.reader.fingerprint() != whole
        answer(archive, 1)
        assert archive.reader.attempts(1)[0].prompt is not None
    assert git(folder, "for-each-ref") != before


def test_what_was_shortened_stays_so_when_it_is_asked_again(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        parents = [record(archive, 0)]
        archive.asked(make_question(1, parents, shortened=True), None)
    with Archive.open(folder) as archive:
        archive.asked(make_question(1, parents), None)
        assert archive.reader.attempts(1)[0].shortened


def test_a_parent_has_the_children_that_got_an_answer(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        parent = record(archive, 0)
        for generation in (1, 2, 3):
            ask(archive, generation)
        archive.failed(1, 0, reason="timeout", message="")
        answer(archive, 2)
        archive.refused(2, 0, reason="no_patch", message="", final=True)
        answer(archive, 3)
        record(archive, 3, parents=(parent.commit,), source="3")
        assert archive.reader.children(parent.commit, 2) == [2, 3]


def test_an_answer_counts_until_a_session_comes_to_its_end(folder: Path) -> None:
    with Archive.create(folder, config_text="", identity=IDENTITY) as archive:
        record(archive, 0)
        assert not archive.reader.answered_since_stop
        ask(archive, 1)
        answer(archive, 1)
    with Archive.open(folder) as archive:
        archive.resumed()
        assert archive.reader.answered_since_stop, "the session before was cut off, and goes on"
        archive.stopped("generations")
        archive.resumed()
        assert not archive.reader.answered_since_stop


# -- a configuration that is changed --------------------------------------------------------------------------------


def test_a_changed_configuration_is_in_force_from_its_event_on(folder: Path) -> None:
    with Archive.create(folder, config_text="seed: 0\n", identity=IDENTITY) as archive:
        archive.resumed(config_text="seed: 0\npatience: 3\n", changed={"patience": 3})
        assert archive.reader.config_text() == "seed: 0\npatience: 3\n"
    assert (folder / "run.yaml").read_text() == "seed: 0\npatience: 3\n"
    assert not (folder / "run.yaml.new").exists()


def test_earlier_configurations_are_kept(folder: Path) -> None:
    texts = ["seed: 0\n", "seed: 0\npatience: 3\n", "seed: 0\npatience: 4\n"]
    with Archive.create(folder, config_text=texts[0], identity=IDENTITY) as archive:
        for text in texts[1:]:
            archive.resumed(config_text=text, changed={"patience": 3})
    with RunReader.open(folder) as archive:
        assert [archive.config_text(config_digest(text)) for text in texts] == texts
        (folder / "configs" / f"{config_digest(texts[0])}.yaml").write_text("seed: 1\n")
        with pytest.raises(
            ArchiveError,
            match="configuration of an earlier session is missing or was changed",
        ):
            archive.config_text(config_digest(texts[0]))


def test_a_change_that_was_cut_off_before_its_event_did_not_happen(folder: Path) -> None:
    Archive.create(folder, config_text="seed: 0\n", identity=IDENTITY).close()
    write_config(folder, "seed: 0\npatience: 3\n", before="seed: 0\n")
    with Archive.open(folder) as archive:
        assert archive.reader.config_text() == "seed: 0\n"
        archive.resumed(config_text="seed: 0\npatience: 4\n", changed={"patience": 4})
    assert (folder / "run.yaml").read_text() == "seed: 0\npatience: 4\n"


def test_a_change_that_was_cut_off_after_its_event_is_finished_by_the_next_writer(folder: Path) -> None:
    with Archive.create(folder, config_text="seed: 0\n", identity=IDENTITY) as archive:
        archive.resumed(config_text="seed: 0\npatience: 3\n", changed={"patience": 3})
    (folder / "run.yaml").rename(folder / "run.yaml.new")
    (folder / "run.yaml").write_text("seed: 0\n")
    with RunReader.open(folder) as archive:
        assert archive.config_text() == "seed: 0\npatience: 3\n"
    assert (folder / "run.yaml").read_text() == "seed: 0\n", "a reader changes nothing"
    with Archive.open(folder) as archive:
        assert archive.reader.config_text() == "seed: 0\npatience: 3\n"
    assert (folder / "run.yaml").read_text() == "seed: 0\npatience: 3\n"
    assert not (folder / "run.yaml.new").exists()


def test_what_a_cut_off_change_left_behind_hides_no_configuration(folder: Path) -> None:
    """A kill in the middle of a write may leave half a character."""
    texts = ["seed: 0\n", "seed: 0\npatience: 3\n"]
    with Archive.create(folder, config_text=texts[0], identity=IDENTITY) as archive:
        archive.resumed(config_text=texts[1], changed={"patience": 3})
    (folder / "run.yaml.new").write_bytes("prompts_dir: /home/andré".encode()[:-1])
    with RunReader.open(folder) as archive:
        assert [archive.config_text(config_digest(text)) for text in texts] == texts
    Archive.open(folder).close()
    assert not (folder / "run.yaml.new").exists()


def test_a_configuration_that_somebody_changed_is_refused(folder: Path) -> None:
    Archive.create(folder, config_text="seed: 0\n", identity=IDENTITY).close()
    (folder / "run.yaml").write_text("seed: 1\n")
    with Archive.open(folder) as archive, pytest.raises(ArchiveError, match=r"resume .* --set KEY=VALUE"):
        _ = archive.reader.config_text()
