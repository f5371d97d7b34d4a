"""What pages are drawn from: every number of it, and that what changes is what has changed."""

import json
from fractions import Fraction

import pytest

from evolve.archive.events import AuditedEvent
from evolve.archive.reader import RunReader
from evolve.archive.reports import Citation, Insight, InsightsReport, Recommendation, Round, Scratchpad, markdown
from evolve.core.completion import CallEvent, CallPhase, Completion, PatchKey, meta_key
from evolve.core.program import PatchKind
from evolve.core.usage import Usage
from evolve.review.generations import all_generations
from evolve.trust import note_audit
from evolve.view.following import GatheredViews
from evolve.view.payload import changes, generation_document, rest, run_document
from tests.builders import make_question

PAID = {"usage": Usage(tokens_in=10, tokens_out=20, cost_usd=0.5, latency_s=1.0)}
ONE = Citation(generations=(1,), shown="generation 1 (22, 2 better than its parent)")
STEP = Citation(generations=(0, 1), shown="generation 0 to 1 (20 -> 22, 2 better)")
REPORT = InsightsReport(
    scratchpad=Scratchpad(
        preface=("What the run has taught:",),
        sections=(
            (
                Insight(mark="- ", text=("Swapping gained: ", ONE)),
                Insight(mark="\n- ", text=("So did nothing else ", STEP)),
            ),
            (Insight(text=("Nothing yet.",)),),
            (),
            (),
        ),
    ),
    recommendations=(Recommendation(text=("Go on from ", ONE, ".")), Recommendation(text=("Begin again.",))),
)


def record(run, make_evaluation):
    """0 initial; 1 new best; 2 refused; 3 followed a recommendation, worse than its parent; 4 fails; 5 quarantined;
    6 a duplicate; 7 unanswered; 8 the best, a cross; 9 under way."""
    thirds = (Fraction(1, 3), Fraction(1, 3))
    initial = run.initial("a = 0\n", make_evaluation((Fraction(1, 2), Fraction(1, 4)), score=20.0))
    run.archive.held_out(0, make_evaluation(score=19.0), overfitted=None)
    first = run.propose(
        1, [initial], source="a = 1\n", evaluation=make_evaluation(thirds, score=22.0), name="wider", **PAID
    )
    run.archive.summarised(2, Round(report=REPORT, corrections=("one",)))
    run.ask(2, [initial], **PAID)
    run.archive.refused(2, 0, reason="no_match", message="Block 1 matches nothing.", final=True)
    guided = {"document": 2, "recommendation": 1}
    worse = make_evaluation((Fraction(1, 3), Fraction(1, 2)), score=21.0)
    run.propose(3, [first], source="a = 3\n", evaluation=worse, guidance=guided, **PAID)
    run.propose(4, [first], source="a = 4\n", evaluation=make_evaluation((Fraction(1), None), score=0.5), **PAID)
    believed = make_evaluation(score=95.0, quarantine="it beats its bound")
    run.propose(5, [first], source="a = 5\n", evaluation=believed, **PAID)
    run.ask(6, [first], **PAID)
    run.archive.refused(6, 0, reason="duplicate", message="known", final=True, duplicate_of=1)
    run.archive.asked(make_question(7, [first]), "a prompt")
    run.archive.failed(7, 0, reason="timeout", message="no answer")
    run.propose(
        8,
        [first],
        source="a = 8\n",
        evaluation=make_evaluation((Fraction(1, 4), Fraction(1, 3)), score=25.0),
        kind=PatchKind.CROSS,
        inspirations=[initial],
        **PAID,
    )
    run.ask(9, [first], **PAID)
    return run.archive.reader


@pytest.fixture(scope="module")
def archive(recorded_runs, make_evaluation):
    return record(recorded_runs("payload"), make_evaluation)


@pytest.fixture(scope="module")
def document(archive):
    found = run_document("payload", archive)
    return json.loads(json.dumps(found, allow_nan=False))


def column(document, name):
    return dict(zip(document["gens"]["n"], document["gens"][name], strict=True))


def test_every_generation_has_its_mark_and_how_far_it_came(document):
    marks = ["best", "best", "refused", "correct", "failed", "quarantined", "duplicate", "unanswered", "best", "open"]
    assert document["gens"]["mark"] == marks
    assert document["gens"]["stage"] == [None, 7, 2, 5, 4, 4, 3, 0, 7, 1]
    reasons = column(document, "reason")
    assert [reasons[n] for n in (1, 2, 4, 5, 6, 7, 9)] == [
        None, "no_match", "invalid_output", "quarantined", "duplicate", "timeout", None
    ]  # fmt: skip


def test_values_are_those_of_correct_programs_and_changes_those_against_the_parent(document):
    assert column(document, "value") == {
        0: 20.0, 1: 22.0, 2: None, 3: 21.0, 4: None, 5: None, 6: None, 7: None, 8: 25.0, 9: None
    }  # fmt: skip
    changes_ = column(document, "change")
    assert (changes_[1], changes_[3], changes_[8], changes_[0], changes_[5]) == (2.0, -1.0, 3.0, None, None)
    after = column(document, "best_after")
    assert [after[n] for n in range(10)] == [20.0, *[22.0] * 7, 25.0, None]
    assert column(document, "wins")[3] == [0, 1, 1]
    assert column(document, "wins")[8] == [1, 1, 0]
    assert column(document, "wins")[1] == [1, 0, 1]
    assert column(document, "held_out")[0] == 19.0
    assert column(document, "held_out_gap") == {0: 7.0, **dict.fromkeys(range(1, 10))}
    assert (document["best"], document["best_value"], document["path"]) == (8, 25.0, [0, 1, 8])


def test_what_was_spent_stands_at_each_generation(document):
    spent = column(document, "spent_usd_after")
    assert [spent[n] for n in (0, 1, 2, 8)] == [0.0, 0.5, 1.0, 3.5]
    assert spent[9] is None
    assert column(document, "cost_usd")[2] == 0.5
    assert column(document, "position")[8] == 9


def test_the_funnel_the_ledger_and_the_yields_add_up(document):
    shown = {stage["stage"]: (stage["count"], stage["generations"]) for stage in document["funnel"]}
    assert shown == {
        "asked": (9, [7]), "answered": (8, [9]), "parsed": (7, [2]), "applied": (6, [6]),
        "new": (5, [4, 5]), "correct": (3, [3]), "improved": (2, []), "best": (2, [1, 8]),
    }  # fmt: skip
    ledger = {entry["reason"]: (entry["count"], entry["generations"]) for entry in document["failures"]}
    assert ledger == {
        "no_match": (1, [2]), "invalid_output": (1, [4]), "quarantined": (1, [5]), "duplicate": (1, [6]),
        "timeout": (1, [7]),
    }  # fmt: skip
    by_kind = {one["name"]: one for one in document["yields"] if one["by"] == "kind"}
    assert by_kind["cross"] | {"by": 0} == {
        "by": 0, "name": "cross", "asked": 1, "answered": 1, "applied": 1, "correct": 1, "improved": 1, "best": 1,
        "gain": 3.0, "cost_usd": 0.5, "gain_per_usd": 6.0,
    }  # fmt: skip
    assert (by_kind["diff"]["asked"], by_kind["diff"]["correct"], by_kind["diff"]["gain"]) == (8, 2, 2.0)


def test_a_insights_report_is_data_with_the_outcome_of_each_recommendation(document):
    (meta,) = document["meta"]
    assert (meta["after"], meta["corrections"], meta["text"]) == (2, ["one"], markdown(REPORT))
    assert [(one["title"].split()[0], one["citations"]) for one in meta["insights"]] == [
        ("Successful", [1]), ("Successful", [0, 1]), ("Ineffective", [])
    ]  # fmt: skip
    first, second = meta["recommendations"]
    assert meta["insights"][0]["text"] == "Swapping gained: generation 1 (22, 2 better than its parent)"
    assert (first["citations"], first["given_to"]) == ([1], [3])
    assert first["outcomes"] == [{"generation": 3, "mark": "correct", "change": -1.0, "followed": None}]
    assert (second["given_to"], second["outcomes"]) == ([], [])


def test_instances_are_shown_for_the_initial_program_and_each_new_best(document):
    matrix = document["instances"]
    assert matrix["columns"] == [0, 1, 8]
    assert matrix["costs"][0] == [0.5, 0.25]
    assert matrix["outcomes"] == [["ok", "ok"]] * 3
    assert matrix["bounds"] == [None, None]  # this evaluator's version is none that ships


def test_what_is_known_for_and_against_the_best_is_shown(document):
    assert document["believed"]["quarantined"] == 1
    assert document["believed"]["strict"] is None
    assert document["state"]["running"]
    assert document["config"]["changed"] == []
    assert [session["event"] for session in document["sessions"]] == ["created"]


def test_how_to_replay_it_is_shown_without_a_path_of_this_machine(document):
    assert document["replay"] == "evolve replay payload best"


def test_a_generation_opened_has_its_texts(archive):
    opened = generation_document(archive, 8)
    json.dumps(opened, allow_nan=False)
    assert (opened["code"], opened["parent"], opened["children"]) == ("a = 8\n", 1, [])
    assert opened["attempts"][0]["prompt"] == "a prompt for generation 8, attempt 0"
    assert opened["results"][0] == [0, "ok", 0.25, None, None, "better", None]
    refused = generation_document(archive, 2)
    assert (refused["code"], refused["parent"], refused["attempts"][0]["reason"]) == (None, 0, "no_match")
    assert generation_document(archive, 1)["children"] == [3, 4, 5, 6, 8]
    with pytest.raises(KeyError):
        generation_document(archive, 77)


def test_what_has_changed_is_all_that_has_changed(recorded_runs, make_evaluation):
    """Following a run event by event gives the columns of reading it at the end."""
    run = recorded_runs("followed")
    with RunReader.open(run.archive.folder) as reader:
        held, since, counts = {}, 0, []
        for written in (run, None):
            if written is not None:
                record(written, make_evaluation)
            else:
                run.archive.noted(3, "look at this")
                run.archive.held_out(1, make_evaluation(score=19.5), overfitted="it gains on the suite only")
            assert reader.more()
            found = changes(reader, since)
            counts.append(found["gens"]["n"])
            since = found["events"]
            for at, generation in enumerate(found["gens"]["n"]):
                held[generation] = {name: values[at] for name, values in found["gens"].items()}
        whole = run_document("followed", reader)
    assert counts == [list(range(10)), [1, 3]]
    assert found["notes"][0]["text"] == "look at this"
    assert held == {
        generation: {name: values[at] for name, values in whole["gens"].items()}
        for at, generation in enumerate(whole["gens"]["n"])
    }
    assert {key: found[key] for key in found if key not in ("since", "gens")} == {
        key: whole[key] for key in found if key not in ("since", "gens")
    }


def test_facts_gathered_slice_by_slice_while_the_run_goes_on_are_those_of_its_end(recorded_runs, make_evaluation):
    run = recorded_runs("gathered")
    gathered = GatheredViews()
    with RunReader.open(run.archive.folder) as reader:
        assert gathered.gather(reader, 2)
        record(run, make_evaluation)
        assert reader.more()
        assert not gathered.gather(reader, 4)
        assert len(gathered.all) == 4
        run.archive.held_out(1, make_evaluation(score=19.5), overfitted="it gains on the suite only")
        run.archive.resumed(identity={"evaluator_version": "v2"}, rescore=[0, 1])
        assert reader.more()
        while not gathered.gather(reader, 4):
            pass
        assert run_document("gathered", reader, gathered.all) == run_document("gathered", reader)
        assert rest(reader, all_generations(reader))["funnel"] == run_document("gathered", reader)["funnel"]


def test_nothing_has_changed_where_nothing_has(archive):
    found = changes(archive, archive.timeline.events)
    assert found["gens"]["n"] == []
    assert set(found["gens"]) == set(run_document("x", archive)["gens"])


def test_a_run_cut_off_before_its_first_program_is_a_document_too(recorded_runs):
    archive = recorded_runs("nothing").archive.reader
    document = run_document("nothing", archive)
    json.dumps(document, allow_nan=False)
    assert (document["best"], document["path"], document["gens"]["n"]) == (None, [], [])
    assert changes(archive, 0)["events"] == 1


def test_a_claim_that_an_audit_did_not_confirm_is_shown_with_the_measured_value(recorded_runs, make_evaluation):
    run = recorded_runs("audited")
    archive = record(run, make_evaluation)
    before = run_document("audited", archive)
    assert (before["audit"], set(column(before, "fallen").values())) == (None, {None})
    fallen = {"generation": 8, "claimed": 25.0, "measured": 24.0, "why": "another cost"}
    run.archive.add(
        AuditedEvent(
            evaluator_version="v1", sandbox="strong", holds=(0, 1, 3, 4), falls=(fallen,), unjudged=(2, 5, 6, 7)
        )
    )
    elsewhere = run_document("audited", archive)  # somebody else's record of an audit shows no verdict
    assert (elsewhere["audit"]["falls"], set(column(elsewhere, "fallen").values())) == (None, {None})
    assert "not by you on this machine" in elsewhere["audit"]["text"]
    assert generation_document(archive, 8).get("audited") is None
    note_audit(archive)
    assert column(changes(archive, before["events"]), "fallen")[8] == {
        "claimed": 25.0,
        "measured": 24.0,
        "why": "another cost",
    }
    audit = run_document("audited", archive)["audit"]
    assert (audit["holds"], audit["falls"], audit["unjudged"]) == (4, 1, 4)
    texts = {n: generation_document(archive, n).get("audited") for n in (1, 5, 8)}
    assert [texts[n].partition(":")[0] for n in texts] == ["holds", "could not be judged", "falls"]
    assert texts[8].endswith("; another cost")


def test_another_evaluator_makes_every_score_an_earlier_ones(recorded_runs, make_evaluation):
    """A rescored run's best is what scores best now; what was said before is stale, and compared with nothing."""
    run = recorded_runs("rescored")
    archive = record(run, make_evaluation)
    before = run_document("rescored", archive)
    run.archive.resumed(identity={"evaluator_version": "v2"}, rescore=[0, 1])
    found = changes(archive, before["events"])
    assert found["gens"]["n"] == list(range(10))  # what was the best after each is another value, or none
    assert found["gens"]["stale"] == [n in (0, 1, 3, 4, 5, 8) for n in range(10)]
    assert set(found["gens"]["best_after"]) == {None}
    assert (found["best"], found["path"]) == (None, [])
    run.archive.rescored(0, make_evaluation(score=18.0, version="v2"))
    run.archive.rescored(1, make_evaluation(score=17.0, version="v2"))
    after = run_document("rescored", archive)
    assert column(after, "stale") == {n: n in (3, 4, 5, 8) for n in range(10)}
    assert (after["best"], after["best_value"]) == (0, 18.0)
    assert set(column(after, "best_after").values()) <= {18.0, None}  # and none of what was said before
    assert changes(archive, found["events"])["gens"]["n"] == list(range(10))
    assert column(after, "change")[1] == -1.0
    assert column(after, "change")[3] is None  # its parent is measured by another rule than it was
    assert column(after, "wins")[3] is None
    assert after["instances"]["columns"] == [0]


def test_a_call_for_a_insights_report_is_a_call(recorded_runs):
    run = recorded_runs("meta_calls")
    run.initial()
    run.archive.summarising()
    run.archive.called(
        meta_key("meta/1/summaries/1/0"), CallEvent(call=0, phase=CallPhase.CALLING, status="calling", model="m")
    )
    under_way = run_document("meta_calls", run.archive.reader)["calls"]
    run.archive.meta_answered(
        meta_key("meta/1/summaries/1/0"), "a prompt", Completion(text="an answer", usage=PAID["usage"])
    )
    answered = run_document("meta_calls", run.archive.reader)["calls"]
    assert under_way["by_status"] == {"under way": 1}
    assert answered["by_status"] == {"stop": 1}
    assert (answered["models"][0]["model"], answered["tokens_in"], answered["cost_usd"]) == ("m", 10, 0.5)
    assert answered["latency_s"] == {"median": 1.0, "p95": 1.0}


def test_the_example_of_a_failure_keeps_its_lines(recorded_runs):
    run = recorded_runs("lines")
    run.ask(1, [run.initial()])
    message = "Block 1 matches nothing:\n--- the SEARCH lines\n+++ the program, lines 5-7"
    run.archive.refused(1, 0, reason="no_match", message=message, final=True)
    (failure,) = run_document("lines", run.archive.reader)["failures"]
    assert failure["example"] == message


def test_a_server_that_fails_is_quoted_until_it_answers(recorded_runs):
    run = recorded_runs("server_fails")
    initial = run.initial()
    ended = run.archive.reader.timeline.events
    sent = {"call": 0, "model": "m"}
    busy = {**sent, "phase": CallPhase.FAILED, "status": "rate_limited", "http_status": 429, "again_in_s": 20.0}
    for generation in (1, 2):
        run.archive.asked(make_question(generation, [initial]), "a prompt")
        key = PatchKey(generation, 0)
        run.archive.called(key, CallEvent(**sent, phase=CallPhase.CALLING, status="calling"))
        run.archive.called(key, CallEvent(**busy, message=f"HTTP 429: slow down {generation}"))
    head = changes(run.archive.reader, ended)
    calls = run_document("server_fails", run.archive.reader)["calls"]
    run.archive.answered(1, 0, Completion(text="an answer", usage=PAID["usage"]))
    answered = changes(run.archive.reader, ended)
    (trouble,) = head["troubles"]
    assert trouble.pop("t") == head["newest"]
    (first,) = [event for event in run.archive.reader.calls(PatchKey(1, 0)) if event.phase is CallPhase.FAILED]
    assert trouble.pop("next_t") == first.t + 20.0
    assert trouble == {"model": "m", "status": "rate_limited", "message": "HTTP 429: slow down 2", "failed": 2}
    assert calls["said"][0] == {"status": "rate_limited", "message": "HTTP 429: slow down 1", "calls": 1}
    assert answered["troubles"] == []


def test_a_request_without_an_answer_is_silent_while_the_run_goes_on(recorded_runs):
    run = recorded_runs("server_silent")
    initial = run.initial()
    for generation in (1, 2):
        run.archive.asked(make_question(generation, [initial]), "a prompt")
        sent = CallEvent(call=0, phase=CallPhase.CALLING, status="calling", model="m", limit_s=300.0)
        run.archive.called(PatchKey(generation, 0), sent)
    (silent,) = run_document("server_silent", run.archive.reader)["troubles"]
    assert (silent["model"], silent["status"], silent["failed"]) == ("m", "silent", 0)
    sent_at = run.archive.reader.calls(PatchKey(1, 0))[0].t
    assert (silent["t"], silent["shown_t"], silent["gives_up_t"]) == (sent_at, sent_at + 5.0, sent_at + 300.0)
    run.archive.stopped("interrupted")
    assert run_document("server_silent", run.archive.reader)["troubles"] == []


HOSTILE = "</script><img src=x onerror=alert(1)>\x1b[31m\u202e\ud800" + "x" * 100_000


def test_hostile_texts_are_texts_of_a_bounded_length(recorded_runs, make_evaluation):
    run = recorded_runs("hostile_payload")
    initial = run.initial()
    failing = make_evaluation((Fraction(1), None), score=0.5, detail=HOSTILE, quarantine=HOSTILE)
    run.propose(1, [initial], source=HOSTILE[:50], evaluation=failing, name=HOSTILE, description=HOSTILE, patch=HOSTILE)
    run.archive.noted(1, HOSTILE[:5000])
    document = run_document("hostile_payload", run.archive.reader)
    shown = json.dumps(document, allow_nan=False)
    assert json.dumps(json.loads(shown)) == shown
    assert len(shown) < 40_000
    assert "\u202e" not in column(document, "why")[1]
    assert len(column(document, "why")[1]) < 1000
    opened = generation_document(run.archive.reader, 1)
    assert opened["code"] == HOSTILE[:50]
    assert HOSTILE[:5000] in json.loads(json.dumps(opened))["notes"][0]["text"]


def test_calls_that_were_cut_off_are_counted_once(recorded_runs):
    run = recorded_runs("cut_off")
    initial = run.initial()
    calling = CallEvent(call=0, phase=CallPhase.CALLING, status="calling", model="m", usage=PAID["usage"])
    run.archive.summarising()
    run.archive.called(meta_key("meta/1/summaries/1/0"), calling)
    run.archive.asked(make_question(1, [initial]), "a prompt")
    run.archive.called(PatchKey(generation=1, attempt=0), calling)
    run.archive.close()
    with RunReader.open(run.archive.folder) as archive:
        document = run_document("cut_off", archive)
    assert document["calls"]["by_status"] == {"cut off": 2} and document["calls"]["unanswered"] == 0
    assert document["calls"]["cost_usd"] == document["spent"]["cost_usd"] == 0
    assert document["spent"]["under_way"]["calls"] == 2
    assert [(one["kind"], one["total"]) for one in document["calls"]["kinds"]] == [("patch", 1), ("insights", 1)]


def test_a_best_that_is_worse_on_the_held_out_suite_is_said_so(recorded_runs, make_evaluation):
    run = recorded_runs("held_out_worse")
    run.archive.held_out(run.initial().generation, make_evaluation(score=19.0), overfitted=None)
    best = run.archive.reader.programs[0]
    for generation, elsewhere in ((1, 19.5), (2, 19.25)):
        evaluation = make_evaluation(score=20.0 + generation)
        best = run.propose(generation, [best], source=f"{generation}", evaluation=evaluation)
        run.archive.held_out(generation, make_evaluation(score=elsewhere), overfitted=None)
    held_out = run_document("held_out_worse", run.archive.reader)["believed"]["held_out"]
    assert held_out["change"] == "0.2500 worse than the previous best, generation 1 (19.5000)"
