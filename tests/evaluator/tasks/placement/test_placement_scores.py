"""The published figures, and the seven holes through which scores above the optimum came."""

import copy
import types
from typing import Any

import pytest
from placement_scoring import program, score, verdict_on

from evaluator.evaluation import Outcome
from evaluator.task_files import load_task

ADRS = load_task("placement").suite("adrs")
CEILING = 26.255972
initial = program("initial")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("baselines/naive", 1.5998),
        ("baselines/greedy_size", 20.4297),
        ("initial", 21.8916),
        ("baselines/greedy_load_resulting", 22.3385),
        ("baselines/binary_search", 26.2332),
    ],
)
def test_the_programs_score_what_was_published(name: str, expected: float) -> None:
    summary, verdicts = score(program(name), ADRS)
    assert summary.score == summary.published_score == pytest.approx(expected, abs=1e-3)
    assert all(verdict.outcome is Outcome.OK for verdict in verdicts)
    assert summary.metrics["success_rate"] == 1.0
    assert 0 < summary.metrics["optimality"] < 1


def test_filling_a_gpu_to_the_brim_is_sixteen_failures() -> None:
    def published_naive(gpu_num: int, models: list[Any]) -> dict[int, list[Any]]:
        placement: dict[int, list[Any]] = {gpu: [] for gpu in range(gpu_num)}
        for model in models:
            for held in placement.values():
                if sum(other.model_size for other in held) + model.model_size <= 80:
                    held.append(model)
                    break
        return placement

    summary, verdicts = score(published_naive, ADRS)
    assert sum(verdict.outcome is Outcome.INFEASIBLE for verdict in verdicts) == 16
    assert summary.score == pytest.approx(0.68)


def refused(place: Any, outcome: Outcome) -> None:
    """Every instance refused for that reason, and nothing scored."""
    summary, verdicts = score(place, ADRS)
    assert {verdict.outcome for verdict in verdicts} == {outcome}
    assert summary.score == summary.published_score == 0.0


def test_hole_1_models_left_out() -> None:
    refused(lambda gpu_num, models: {0: models[:1]}, Outcome.INVALID_OUTPUT)
    refused(lambda gpu_num, models: {}, Outcome.INVALID_OUTPUT)


def test_hole_1_models_placed_twice() -> None:
    def doubled(gpu_num: int, models: list[Any]) -> Any:
        placement = initial(gpu_num, models)
        placement[0] = [*placement[0], *placement[1]]
        return placement

    refused(doubled, Outcome.INVALID_OUTPUT)


@pytest.mark.parametrize("ghost", [-1, 9, 10**30, True, 1.0, "1", None])
def test_hole_2_gpus_that_do_not_exist(ghost: object) -> None:
    def elsewhere(gpu_num: int, models: list[Any]) -> Any:
        placement = initial(gpu_num, models)
        moved = placement.pop(1)
        return {**placement, ghost: moved}

    refused(elsewhere, Outcome.INVALID_OUTPUT)


def test_hole_3_failing_the_hard_instances() -> None:
    def picky(gpu_num: int, models: list[Any]) -> Any:
        if sum(model.req_rate / model.slo for model in models) / gpu_num > 1.9:
            raise RuntimeError("too hard")
        return program("baselines/binary_search")(gpu_num, models)

    summary, verdicts = score(picky, ADRS)
    assert summary.published_score > CEILING  # what another harness would have believed
    assert summary.score == summary.metrics["success_rate"] < 1
    assert {verdict.outcome for verdict in verdicts} == {Outcome.OK, Outcome.EXCEPTION}


def test_hole_4_changed_instances() -> None:
    honest, _ = score(initial, ADRS)

    def shrinking(gpu_num: int, models: list[Any]) -> Any:
        placement = initial(gpu_num, models)
        for model in models:
            model.model_size = 0
            model.req_rate = 0
            model.slo = float("inf")
        models.clear()
        return placement

    def all_on_one(gpu_num: int, models: list[Any]) -> Any:
        for model in models:
            model.model_size = 0
        return {0: models}

    def patched_class(gpu_num: int, models: list[Any]) -> Any:
        class Free:
            model_size = property(lambda self: 0)
            req_rate = property(lambda self: 0)

        for model in models:
            model.__class__ = Free
        return {0: models}

    assert score(shrinking, ADRS)[0] == honest
    refused(all_on_one, Outcome.INFEASIBLE)
    refused(patched_class, Outcome.INFEASIBLE)


def test_hole_5_a_candidate_that_forges_the_encoder_gains_nothing() -> None:
    # The evaluator's process is not the candidate's (that is tested with the sandbox); what a candidate can
    # reach is the adapter, and whatever comes out of it is judged from the pristine instance.
    judge = load_task("placement").judge
    for forged in ([], [[0, []]], [[0, [-1]]], {"combined_score": 1e9}, "ok", 1e9, None):
        assert judge.judge(ADRS.instances[0], forged).cost is None


def test_hole_6_nan_infinities_and_containers_that_change() -> None:
    refused(lambda gpu_num, models: {float("nan"): models}, Outcome.INVALID_OUTPUT)
    refused(lambda gpu_num, models: {0: [*models, float("inf")]}, Outcome.INVALID_OUTPUT)

    class Changing(list[Any]):
        looks = 0

        def __iter__(self) -> Any:
            self.looks += 1
            return super().__iter__() if self.looks > 1 else iter(())

    refused(lambda gpu_num, models: {0: Changing(models)}, Outcome.INVALID_OUTPUT)


def test_hole_7_copies_get_their_honest_score() -> None:
    honest, _ = score(initial, ADRS)

    def copies(gpu_num: int, models: list[Any]) -> Any:
        return copy.deepcopy(initial(gpu_num, models))

    def lying_copies(gpu_num: int, models: list[Any]) -> Any:
        return {
            gpu: [types.SimpleNamespace(model_name=model.model_name, model_size=0, req_rate=0) for model in held]
            for gpu, held in initial(gpu_num, models).items()
        }

    assert score(copies, ADRS)[0] == honest
    assert score(lying_copies, ADRS)[0] == honest


def test_hole_7_copies_with_unknown_names_do_not_count() -> None:
    refused(
        lambda gpu_num, models: {0: [types.SimpleNamespace(model_name="model_00") for _ in models]},
        Outcome.INVALID_OUTPUT,
    )


def test_an_honest_program_that_sorts_its_input_in_place_is_not_punished() -> None:
    def sorting(gpu_num: int, models: list[Any]) -> Any:
        models.sort(key=lambda model: -model.req_rate / model.slo)
        return initial(gpu_num, models)

    assert score(sorting, ADRS)[0] == score(initial, ADRS)[0]


def test_the_messages_name_models_and_gpus() -> None:
    verdict = verdict_on(lambda gpu_num, models: {0: models[:-2]}, ADRS.instances[0])
    assert verdict.detail == "2 of 16 models left out: model_14, model_15"


@pytest.mark.parametrize("suite", ["tight", "skewed", "fleet"])
def test_the_initial_program_has_clear_headroom_on_the_harder_suites(suite: str) -> None:
    summary, _ = score(initial, load_task("placement").suite(suite))
    assert summary.metrics["optimality"] < 0.5


def test_the_seeds_of_a_suite_and_its_held_out_suite_share_no_instance() -> None:
    task = load_task("placement")
    for name in ("adrs", "tight", "skewed", "fleet"):
        seen = [instance.data for instance in task.suite(name).instances]
        assert not [one.data for one in task.suite(f"{name}-holdout").instances if one.data in seen]
