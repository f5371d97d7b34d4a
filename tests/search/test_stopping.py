"""Claims about when a run ends and when it warns."""

from dataclasses import replace

import pytest

from evolve.search.stopping import ALARM_AFTER, RecentEnd, Situation, StopReason, alarm, end_text, stop_reason

NOW = Situation(
    begun=10,
    since_best=6,
    best_score=26.0,
    ceiling=26.255972,
    ceiling_is_proven=True,
    elapsed_s=30.0,
)


@pytest.mark.parametrize(
    ("now", "limits", "reason"),
    [
        (NOW, {}, None),
        (NOW, {"generations": 11}, None),
        (NOW, {"generations": 10}, StopReason.GENERATIONS),
        (NOW, {"minutes": 0.5}, StopReason.MINUTES),
        (NOW, {"minutes": 0.6}, None),
        (NOW, {"patience": 6}, StopReason.PATIENCE),
        (NOW, {"patience": 7}, None),
        (replace(NOW, best_score=26.255972 - 2e-6), {}, None),
        (replace(NOW, best_score=26.255972 - 5e-7), {}, StopReason.CEILING),
        (replace(NOW, best_score=26.255972, ceiling_is_proven=False), {}, None),
        (replace(NOW, best_score=None, ceiling=None), {"generations": 10}, StopReason.GENERATIONS),
    ],
)
def test_a_run_ends_at_its_limits_and_at_a_proven_ceiling(
    now: Situation, limits: dict[str, float], reason: StopReason | None
) -> None:
    all_limits = {"generations": None, "minutes": None, "patience": None, **limits}
    assert stop_reason(now, **all_limits) is reason


def test_an_alarm_names_the_one_error_that_every_candidate_has() -> None:
    failed = [RecentEnd(fault="load_error: No module named 'scipy'", score=0.0)] * ALARM_AFTER
    assert "all failed in the same way: load_error: No module named 'scipy'" in str(alarm(failed))
    assert alarm(failed[1:]) is None
    assert alarm([*failed[1:], RecentEnd(fault=None, score=21.0)]) is None


def test_an_alarm_says_when_nothing_succeeded_or_every_score_is_equal() -> None:
    assert "none of the last" in str(alarm([RecentEnd(fault=f"exception: {n}", score=0.0) for n in range(ALARM_AFTER)]))
    assert "all score exactly 21" in str(alarm([RecentEnd(fault=None, score=21.0)] * ALARM_AFTER))
    assert alarm([RecentEnd(fault=None, score=21.0 + n) for n in range(ALARM_AFTER)]) is None
    idle = RecentEnd(fault="refused: nothing", score=None, nothing="There is nothing to propose.")
    assert alarm([idle]) == alarm([RecentEnd(fault="no_match", score=None), idle]) == "There is nothing to propose."
    assert alarm([RecentEnd(fault="refused: nothing", score=None)]) is None


def test_every_reason_has_words_of_its_own():
    words = {end_text(reason) for reason in StopReason}
    assert len(words) == len(StopReason)
    assert not any(text.startswith("stopped") for text in words)
    assert end_text("of another version") == "stopped: of another version"
