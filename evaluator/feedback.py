"""What a program's author, a model, is told about its evaluation: short, plain, the same for the same results."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from evaluator.evaluation import Evaluation, InstanceResult, Outcome
from evaluator.task import Suite, Task

LIMIT: Final = 1000
"""The longest feedback, in characters."""
_SHOWN: Final = 4


def feedback(task: Task, suite: Suite, evaluation: Evaluation) -> str:
    """Which instances failed, or which are farthest from their bound, with their numbers."""
    results, failed = evaluation.results, evaluation.outcome is not Outcome.OK
    total = len(results)
    if all(result.outcome is Outcome.NOT_RUN for result in results):
        text = f"The program does not load, so no instance was run. {evaluation.detail}"
    elif evaluation.quarantine is not None:
        text = f"The score cannot be believed: {evaluation.quarantine}"
    elif failed and all(result.outcome is Outcome.OK for result in results):
        text = f"All {total} instances succeeded, and yet the program counts as incorrect: {evaluation.detail}"
    elif failed:
        text = _failures(task, suite, results, total)
    else:
        text = _distances(task, suite, results, total)
    return text if len(text) <= LIMIT else f"{text[: LIMIT - 6]} [...]"


def _failures(task: Task, suite: Suite, results: Sequence[InstanceResult], total: int) -> str:
    failed = [result for result in results if result.outcome is not Outcome.OK]
    groups: dict[Outcome, list[InstanceResult]] = {}
    for result in failed:
        groups.setdefault(result.outcome, []).append(result)
    parts = [f"{len(failed)} of {total} instances failed, so the program counts as incorrect."]
    for outcome, group in groups.items():
        shown = ", ".join(str(result.instance) for result in group[:12])
        more = ", ..." if len(group) > 12 else ""
        parts.append(f"{outcome.value}: {len(group)} (instance {shown}{more}).")
    for group in list(groups.values())[:3]:
        first = group[0]
        if first.outcome is not Outcome.NOT_RUN:
            parts.append(f"{named(task, suite, first.instance)}: {first.detail}.")
    return " ".join(parts)


def _distances(task: Task, suite: Suite, results: Sequence[InstanceResult], total: int) -> str:
    gaps = []
    for result, instance in zip(results, suite.instances, strict=True):
        if result.cost is not None and instance.bound is not None:
            # A bound of zero has no percentage; one that is far from it says as much as any other.
            gaps.append(((result.cost - instance.bound) / (abs(instance.bound) or 1), result, instance.bound))
    if not gaps:
        return f"All {total} instances succeeded."
    gaps.sort(key=lambda entry: (-entry[0], entry[1].instance))
    optimal = sum(1 for gap, _, _ in gaps if gap == 0)
    parts = [f"All {total} instances succeeded; {optimal} reach their bound exactly."]
    far = [entry for entry in gaps[:_SHOWN] if entry[0] > 0]
    if far:
        parts.append("Farthest from the bound:")
        parts += [
            f"{named(task, suite, result.instance)}: cost {float(result.cost or 0):.6g}, "
            f"bound {float(bound):.6g}{_above(gap, bound)};"
            for gap, result, bound in far
        ]
        parts[-1] = parts[-1][:-1] + "."
    return " ".join(parts)


def _above(gap: Fraction, bound: Fraction) -> str:
    return f" ({float(gap) * 100:.1f} % above)" if bound else ""


def named(task: Task, suite: Suite, index: int) -> str:
    """`instance 3 (9 GPUs, 18 models)`."""
    description = task.judge.describe(suite.instances[index])
    return f"instance {index} ({description})" if description else f"instance {index}"
