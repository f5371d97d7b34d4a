"""The claims of other systems' folders: which formula they follow, which fall, and what explains the difference."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from evaluator.evaluator import SandboxedEvaluator
from evaluator.task_files import load_task
from evolve.apps.audit.claims import Claim, Claimed, ClaimVerdict
from evolve.apps.audit.conventions import with_entry_point
from evolve.apps.audit.folder import FolderAudit
from evolve.apps.audit.measuring import KeptResults

HOLDS, FALLS, UNJUDGED = ClaimVerdict
CLIMB = load_task(Path(__file__).resolve().parents[2] / "data" / "climb")
PACKING = load_task("circle_packing")


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def climb() -> Iterator[SandboxedEvaluator]:
    with SandboxedEvaluator(CLIMB, CLIMB.suite(), workers=2) as evaluator:
        yield evaluator


def claim(name: str, source: str, score: float | None, **numbers: float) -> Claimed:
    stated = numbers if score is None else {"combined_score": score, **numbers}
    return Claimed(id=name, generation=0, name=name, source=source, correct=True, where_from="gen_0", numbers=stated)


def off_by(distance: float, more: str = "") -> str:
    return f"def guess(n):\n    {more or 'pass'}\n    return n + {distance}\n"


def score(distance: float) -> float:
    return 1 + 100 / (4 + distance / 10)


HONEST = [claim(f"off{number}", off_by(number), score(number)) for number in (1, 2, 3)]


def audit(
    evaluator: SandboxedEvaluator, *claimed: Claimed, task: Any = CLIMB, number: str | None = None
) -> tuple[Sequence[Claim], FolderAudit]:
    made = FolderAudit(claimed, task, evaluator)
    kept = KeptResults("a folder")
    claims = made.claims(kept, number=number, workers=2, step=lambda: None)
    kept.remove()
    return claims, made


def test_a_formula_is_known_once_two_programs_agree_and_what_differs_falls(climb: SandboxedEvaluator) -> None:
    claims, made = audit(climb, *HONEST, claim("lie", off_by(9), 26.5), claim("textless", "", None))
    assert [each.verdict for each in claims] == [HOLDS, HOLDS, HOLDS, FALLS, UNJUDGED]
    assert made.formula is not None
    assert made.formula.number == "combined_score"
    assert f"recorded 26.5, measured {score(9)!r}" in claims[3].why


def test_without_agreement_nothing_falls_unless_the_user_names_the_number(climb: SandboxedEvaluator) -> None:
    scaled = [claim(f"scaled{number}", off_by(number), score(number) / 26) for number in (1, 2)]
    claims, made = audit(climb, *scaled)
    assert [each.verdict for each in claims] == [UNJUDGED, UNJUDGED]
    assert made.formula is None
    named = [claim("honest", off_by(1), 0.9, target=score(1)), claim("lie", off_by(2), 0.9, target=30.0)]
    assert [each.verdict for each in audit(climb, *named)[0]] == [UNJUDGED, UNJUDGED]
    assert [each.verdict for each in audit(climb, *named, number="target")[0]] == [HOLDS, FALLS]


def test_a_round_number_that_agrees_by_chance_makes_no_formula_known(climb: SandboxedEvaluator) -> None:
    exact = [claim("one", off_by(0), 26.0), claim("two", "def guess(n):\n    return n\n", 26.0)]
    assert audit(climb, *exact)[1].formula is None


def test_what_the_recorded_evaluator_took_for_granted_is_named(climb: SandboxedEvaluator) -> None:
    first = CLIMB.suite().instances[0].data["n"]
    fails_once = off_by(1, f"assert n != {first}")
    claims, _ = audit(
        climb,
        *HONEST,
        claim("left_out", fails_once, score(1)),
        claim("reported", off_by(9), 26.0, reported_score=26.0),
    )
    assert [each.verdict for each in claims[3:]] == [FALLS, FALLS]
    assert "1 were left out of the mean" in claims[3].why
    assert "the recorded score is what the program reported of itself (reported_score)" in claims[4].why


def test_a_program_that_lacks_a_package_or_time_here_is_not_judged(climb: SandboxedEvaluator) -> None:
    claims, _ = audit(
        climb,
        *HONEST,
        claim("package", "import a_package_of_theirs\n" + off_by(1), 26.0),
        claim("inside", off_by(1, "import a_package_of_theirs"), 26.0),
        claim("gone", off_by(1, "raise ValueError"), 26.0),
    )
    assert [each.verdict for each in claims[3:]] == [UNJUDGED, UNJUDGED, FALLS]
    assert "a_package_of_theirs" in claims[3].why


def packing(excess: float, entry: str = "run_packing") -> str:
    return (
        f"def {entry}():\n    centers = [(0.1 + 0.2 * (i % 5), 0.1 + 0.2 * (i // 5)) for i in range(25)]\n"
        f"    radii = [0.099 + {excess}] * 25 + [0.001]\n    return [*centers, (0.2, 0.2)], radii, 99.0\n"
    )


@pytest.mark.slow
def test_programs_of_other_systems_are_called_as_they_are_there_and_a_tolerance_is_found() -> None:
    sums = {excess: sum([0.099 + excess] * 25 + [0.001]) for excess in (0.0, 0.0001, 0.0010001)}
    claims_of = [claim(f"by{excess}", packing(excess), value) for excess, value in sums.items()]
    with SandboxedEvaluator(PACKING, PACKING.suite(), workers=2) as evaluator:
        claims, _ = audit(evaluator, *claims_of, task=PACKING)
    assert [each.verdict for each in claims] == [HOLDS, HOLDS, FALLS]
    assert "valid only with a tolerance of 2e-07 or more" in claims[2].why


def test_only_a_program_without_the_entry_point_gets_one() -> None:
    own = "def pack(n):\n    return []\n"
    assert with_entry_point(own, "circle_packing", "pack") == own
    assert with_entry_point(packing(0.0), "climb", "guess") == packing(0.0)
    assert "construct_packing()" in with_entry_point(packing(0.0, "construct_packing"), "circle_packing", "pack")
