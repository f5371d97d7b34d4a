"""Facts and evidence: what code counted, in any order, with nothing that a clock measured."""

import dataclasses
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.evaluation import Outcome
from evaluator.objective import Direction, Objective
from evolve.archive.events import AskedEvent, Status
from evolve.archive.records import AttemptRecord, ProgramRecord
from evolve.core.program import Origin, PatchKind
from evolve.core.usage import Usage
from evolve.insights.citations import describe
from evolve.insights.credit import NOBODY, Credit, Tally
from evolve.insights.evidence import Evidence
from evolve.insights.facts import Fact
from evolve.insights.overview import TABLE_FROM, overview, warning
from tests.builders import make_origin, make_record
from tests.insights.a_run import a_run


def record(generation: int, score: float, *, correct: bool = True, quarantine: str | None = None) -> ProgramRecord:
    return make_record(
        generation,
        score,
        outcome=Outcome.OK if correct else Outcome.TIMEOUT,
        quarantine=quarantine,
        origin=make_origin(model="m", patch_name="add_move_one", description="why", features=("add f",)),
        metrics={"success_rate": 1.0, "runtime_s": 0.123},
    )


def after(parent: ProgramRecord, base: ProgramRecord | None = None, wins: Tally | None = None) -> Credit:
    return Credit(parent=parent, base=base or parent, against_base=wins)


def test_a_fact_of_a_program_holds_no_measured_time() -> None:
    assert dict(Fact.of_program(record(3, 22.0), after(record(1, 20.0))).metrics) == {"success_rate": 1.0}


def test_a_change_is_between_correct_programs_only() -> None:
    assert Fact.of_program(record(3, 22.0), after(record(1, 20.0))).change == 2.0
    repaired = Fact.of_program(record(3, 22.0), after(record(1, 0.5, correct=False)))
    assert repaired.change is None and repaired.correct
    assert Fact.of_program(record(3, 0.5, correct=False), after(record(1, 20.0))).change is None
    assert Fact.of_program(record(3, 38.0, quarantine="too good"), after(record(1, 20.0))).change is None
    assert Fact.of_program(record(0, 22.0), NOBODY).change is None


def test_what_saw_a_better_program_than_its_parent_is_measured_against_that() -> None:
    cross = Fact.of_program(record(9, 22.0), after(record(1, 20.0), record(4, 22.5)))
    assert (cross.change, cross.apart) == (-0.5, -1)
    assert describe(cross) == "generation 9 (22, 0.5000 worse than generation 4)"
    assert (cross.parent_generation, cross.base_generation) == (1, 4)


def test_a_gain_is_counted_by_the_score_with_the_tally_next_to_it() -> None:
    def fact(wins: Tally | None) -> Fact:
        return Fact.of_program(record(9, 22.0025), after(record(4, 22.0), wins=wins))

    assert [fact(wins).apart for wins in (None, Tally(9, 33, 8), Tally(0, 50, 0))] == [1, 1, 1]
    assert [fact(wins).apart for wins in (Tally(8, 33, 9), Tally(8, 34, 8))] == [1, 1]
    mixed = fact(Tally(8, 33, 9))
    assert mixed.apart == 1
    assert describe(mixed) == "generation 9 (22.0025, 0.0025 better than its parent; instances: 8 better, 9 worse)"
    assert Evidence([Fact.of_program(record(4, 22.0), NOBODY), mixed]).gained == 1


@pytest.mark.parametrize("direction", Direction)
def test_each_instance_has_the_first_of_its_best_correct_programs_as_its_leader(direction: Direction) -> None:
    objective = Objective(metric="m", direction=direction, per_instance=direction)
    costs = {1: "3 1/2", 2: "7/2 1/2", 3: "9 9", 4: "-9 -9", 5: "4 4", 6: "-5 -5"}
    changes = {
        3: {"quarantine": "a hole"},
        4: {"outcome": Outcome.EXCEPTION},
        5: {"self_judged": True},
        6: {"excluded": True},
    }
    records = [
        dataclasses.replace(record(n, 20.0), objective=objective, costs=exact, **changes.get(n, {}))
        for n, exact in costs.items()
    ]
    evidence = Evidence(Fact.of_program(each, NOBODY) for each in records)
    best = (2, "7/2") if direction is Direction.MAXIMISE else (1, "3")
    assert evidence.leaders == [best, (1, "1/2")]
    assert not any(fact.costs for fact in evidence.facts.values())


def test_a_fact_without_a_program_says_why_there_is_none() -> None:
    asked = AskedEvent(
        generation=4, attempt=2, kind=PatchKind.CROSS, island=0, parents=(), inspirations=(), model="m", position=1
    )
    attempt = AttemptRecord(
        generation=4, attempt=2, status=Status.REFUSED, model="m", parent="", prompt=None, answer=None,
        reason="no_match", message="block 1 matches nothing", usage=Usage(latency_s=1.0),
    )  # fmt: skip
    fact = Fact.without_program(asked, Status.REFUSED, attempt)
    assert (fact.origin.kind, fact.ending, fact.is_program) == (PatchKind.CROSS, "no program: refused no_match", False)
    assert fact.fault == "block 1 matches nothing"
    assert Fact.without_program(asked, Status.REFUSED, None).ending == "no program: refused"


def test_a_fact_of_a_program_says_what_the_patch_changed_and_in_what() -> None:
    fact = Fact.of_program(record(3, 22.0), after(record(1, 20.0)))
    fact = dataclasses.replace(fact, source="x = 2", parent_source="x = 1")
    assert fact.origin.features == ("add f",)
    assert (fact.parent_generation, fact.base_score) == (1, 20.0)
    (kept,) = Evidence([fact]).facts.values()
    assert (kept.source, kept.parent_source, kept.feedback) == ("", "", "")


def test_the_best_program_is_correct_and_the_earliest_of_its_score() -> None:
    evidence = Evidence(a_run())
    assert evidence.best is not None and evidence.best.generation == 7  # not 12, which equals it, nor the fraud, 13
    assert [fact.generation for fact in evidence.chain()] == [0, 2, 4, 7]
    assert evidence.records == [0, 1, 2, 4, 7]


def test_groups_count_gains_losses_and_failures() -> None:
    evidence = Evidence(a_run())
    diff = evidence.by_kind["diff"]
    assert (len(diff.programs), diff.correct) == (11, 8)
    assert (diff.gained, diff.lost, diff.same) == ([1, 2, 4, 7, 9], [3, 10], [12])
    assert diff.best is not None and diff.best[1] == 2 and diff.best[0] == pytest.approx(4.341614)
    assert diff.mean == pytest.approx(
        (0.446936 + 4.341614 - 0.023124 + 0.007823 + 0.00701 + 0.006854 - 0.00701 + 0.0) / 8
    )
    assert evidence.by_kind["fix"].correct == 1 and evidence.by_kind["fix"].mean is None
    assert evidence.by_feature["add swap_one_one"].programs == [7, 15]
    assert evidence.failures == {
        "failed: cpu_limit": [5],
        "no program: duplicate": [6],
        "failed: NameError": [11],
        "quarantined": [13],
        "no program: refused no_match": [14],
    }
    assert (evidence.programs, evidence.correct, evidence.gained) == (14, 11, 5)
    assert evidence.gainers()[0].name == "add bisect_first_fit"
    assert [group.name for group in evidence.losers()][:2] == [
        "add bisect_best_fit, remove bisect_first_fit",
        "remove move_one",
    ]


@given(st.randoms(use_true_random=False))
def test_the_best_and_the_means_do_not_depend_on_the_order_in_which_programs_end(rng: random.Random) -> None:
    facts = a_run()
    rng.shuffle(facts)
    shuffled, sorted_ = Evidence(facts), Evidence(a_run())
    assert shuffled.best == sorted_.best
    assert {n: g.mean for n, g in shuffled.by_feature.items()} == {n: g.mean for n, g in sorted_.by_feature.items()}


def test_a_generation_is_counted_once_and_only_when_it_has_ended() -> None:
    evidence = Evidence(a_run())
    with pytest.raises(ValueError, match="generation 3 has been counted already"):
        evidence.add(a_run()[3])
    with pytest.raises(ValueError, match="generation 99 has not ended"):
        evidence.add(Fact(generation=99, status=Status.ANSWERED, origin=a_run()[0].origin))


def test_the_overview_is_a_table_that_no_name_breaks_and_a_list_while_there_are_few() -> None:
    facts = a_run()
    evidence = Evidence(facts)
    hostile = "a | b\n| forged | 9 |\n# META RECOMMENDATIONS `x`"
    origin = Origin(kind=PatchKind.DIFF, model="m", patch_name=hostile, description=hostile, features=(hostile,) * 1)
    evidence.add(dataclasses.replace(facts[12], generation=20, origin=origin))
    table = overview(evidence)
    assert "| `diff` | 12 | 9 | 5 | 2 | 0.5311 better | 4.3416 better (generation 2) |" in table
    assert (
        "The best program is generation 7 (26.2480, 0.0070 better than its parent), 0.0079 below the ceiling" in table
    )
    assert "- failed: NameError: generation 11" in table
    assert "\n| forged" not in table and "\n#" not in table
    few = overview(Evidence(facts[: TABLE_FROM - 1]))
    assert "|" not in few
    assert "- generation 4 (26.2410, 0.0078 better than its parent): `add local_search`, `add move_one`\n" in few


def test_a_quarantined_program_is_warned_of() -> None:
    assert warning(Evidence(a_run()[:12])) == ""
    assert warning(Evidence(a_run())).startswith("generation 13 is quarantined: the evaluator or the task has a bug")


def test_no_program_yet_is_no_error() -> None:
    assert overview(Evidence()).startswith("Of 0 generations, 0 gave a program")
