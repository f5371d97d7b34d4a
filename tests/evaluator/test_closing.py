"""Closing an evaluator lets nobody wait."""

import threading

from evaluator.evaluation import Evaluation, Outcome
from evaluator.evaluator import SandboxedEvaluator
from evaluator.task import Task

HONEST = "def smallest(items):\n    return items.index(min(items))\n"


def test_whoever_waits_for_a_worker_is_let_go_when_the_evaluator_closes(smallest: Task) -> None:
    evaluator = SandboxedEvaluator(smallest, smallest.suite(), workers=1)
    found: list[Evaluation] = []

    def examine() -> None:
        evaluation = evaluator.evaluate(HONEST)
        found.append(evaluator.examine(HONEST, evaluation))

    threads = [threading.Thread(target=examine, daemon=True) for _ in range(6)]
    for thread in threads:
        thread.start()
    evaluator.close()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert len(found) == 6
    late = evaluator.evaluate(HONEST)
    assert late.outcome is Outcome.HARNESS_ERROR
    assert "closed" in late.detail
