"""A program that misses a name costs no evaluation: the answer goes back with the reason, another is taken."""

from pathlib import Path

from tests.loop.by_hand import through
from tests.loop.climbing import configure, count, events, opened, patch, script

MISSPELT = patch("OFFSET = shuffel(OFFSET)", name="misspelt")


def test_a_misspelt_name_goes_back_and_the_corrected_answer_is_evaluated(tmp_path: Path) -> None:
    models = [script(tmp_path, [[MISSPELT, patch(2, name="repaired")], patch(3), [MISSPELT, MISSPELT]])]
    through(tmp_path, configure(tmp_path, models=models, generations=3, attempts=2))
    first, *others = [event for event in events(tmp_path) if event["event"] == "refused"]
    assert (first["generation"], first["attempt"], first["reason"], first["final"]) == (1, 0, "would_fail", False)
    assert [(event["generation"], event["reason"], event["final"]) for event in others] == [
        (3, "would_fail", False),
        (3, "would_fail", True),
    ]
    assert [event["generation"] for event in events(tmp_path) if event["event"] == "evaluated"] == [0, 1, 2]
    assert count(tmp_path, "evaluated", generation=1) == 1
    with opened(tmp_path) as archive:
        assert archive.find("1").origin.patch_name == "repaired"
        _, again = archive.attempts(1)
        assert again.prompt is not None
        prompt = archive.text(again.prompt)
    assert "is certain to fail: line 5: name `shuffel` is not defined" in prompt
    assert "    5 | OFFSET = shuffel(OFFSET)" in prompt
