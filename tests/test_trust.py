"""What a configuration would use is named before it is used, whatever it calls itself."""

from pathlib import Path

from evolve.core.config import build_config
from evolve.trust import named_things


def test_a_client_of_ones_own_is_named_also_where_the_model_calls_itself_scripted() -> None:
    model = {"model": "scripted:answers.yaml", "client": "evil.module:Client"}
    named, _ = named_things(build_config({"models": [model]}, origin="run.yaml"))
    assert "client evil.module:Client (Python that runs as you)" in named


def test_what_is_long_is_named_to_its_end() -> None:
    def named(end: str) -> list[str]:
        model = {"model": "m", "base_url": "https://example.org/" + "a" * 400 + end}
        return named_things(build_config({"models": [model]}, origin="run.yaml"))

    assert named("b") != named("c")


def test_what_a_run_may_spend_is_part_of_what_is_trusted() -> None:
    def named(**changed: float | None) -> list[str]:
        model = {"model": "m", "price_in": 1.0, "price_out": changed.get("price_out", 2.0)}
        document = {"models": [model], "budget_usd": changed.get("budget_usd", 5.0)}
        return named_things(build_config(document, origin="run.yaml"))

    assert len({str(named()), str(named(budget_usd=None)), str(named(price_out=0.0))}) == 3
    assert "at most 5.0 USD" in named()[-1]


def test_what_a_tasks_folder_runs_is_described_truly_with_a_judge_and_without(tmp_path: Path) -> None:
    def named() -> list[str]:
        return named_things(build_config({"task": str(tmp_path / "mine")}, origin="run.yaml"))

    (before,) = named()
    assert "a judge.py in it is Python that runs as you; an evaluator script runs in the sandbox" in before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "evaluate.py").write_text("")
    assert named() == [before], "what is noted as the user's does not change when the folder is moved"
