"""Feedback to a program's author, a model: on an evaluation, and on one failure. Short, plain, the same for the same
results. What a candidate wrote is made harmless."""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from evaluator.evaluation import Evaluation, InstanceResult, Outcome
from evaluator.sandbox.protocol import Fault
from evaluator.task import Suite, Task
from evaluator.untrusted import block, one_line

LIMIT: Final = 1000
"""Characters of the longest feedback."""
_SHOWN: Final = 4
FULL_LIMIT: Final = 8 * 1024
SHORT_LIMIT: Final = 300
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,16}\b")
_WHERE: Final = {"adapter": "while its arguments were prepared: ", "answer": "what it returned is no answer: "}
_REFUSED: Final = " (the sandbox has no files, network, processes, threads or sleep: compute with what is passed in)"


def feedback(task: Task, suite: Suite, evaluation: Evaluation) -> str:
    """The instances that failed, or those farthest from their bound, with numbers."""
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
            parts.append(f"{name_instance(task, suite, first.instance)}: {first.detail}.")
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
    reached = "1 reaches its bound" if optimal == 1 else f"{optimal} reach their bound"
    parts = [f"All {total} instances succeeded; {reached} exactly."]
    far = [entry for entry in gaps[:_SHOWN] if entry[0] > 0]
    if far:
        parts.append("Farthest from the bound:")
        parts += [
            f"{name_instance(task, suite, result.instance)}: cost {float(result.cost or 0):.6g}, "
            f"bound {float(bound):.6g}{_above(gap, bound)};"
            for gap, result, bound in far
        ]
        parts[-1] = parts[-1][:-1] + "."
    return " ".join(parts)


def _above(gap: Fraction, bound: Fraction) -> str:
    return f" ({float(gap) * 100:.1f} % above)" if bound else ""


def name_instance(task: Task, suite: Suite, index: int) -> str:
    """An instance in words: `instance 3 (9 GPUs, 18 models)`."""
    description = task.judge.describe(suite.instances[index])
    return f"instance {index} ({description})" if description else f"instance {index}"


def describe_fault(fault: Fault) -> str:
    """One sentence: what was raised, and on which line of the program."""
    where = ""
    if fault.lines and fault.kind != "adapter":  # an adapter's lines are not lines of the program
        line, function = fault.lines[-1]
        where = f" (line {line})" if function == "<module>" else f" (line {line}, in {function})"
    return hide_addresses(f"{_WHERE.get(fault.kind, '')}{fault.text}{where}{_hint(fault)}")


def format_traceback(fault: Fault, source_lines: Sequence[str]) -> str:
    """The exception, with the program's own lines of its traceback, outermost first."""
    shown = []
    for line, function in () if fault.kind == "adapter" else fault.lines:
        code = source_lines[line - 1].strip()[:160] if 0 < line <= len(source_lines) else ""
        shown.append(f"  line {line}, in {function}: {code}".rstrip())
    head = ["Traceback (lines of the program):", *shown] if shown else []
    return hide_addresses("\n".join([*head, f"{_WHERE.get(fault.kind, '')}{fault.text}{_hint(fault)}"]))


def shorten(text: str) -> str:
    """Untrusted text on one line of at most `SHORT_LIMIT` characters."""
    line = one_line(text, SHORT_LIMIT - 40)
    return line if len(line) <= SHORT_LIMIT else f"{line[: SHORT_LIMIT - 6]} [...]"


def shorten_block(text: str) -> str:
    """Untrusted text with its line breaks, in at most `FULL_LIMIT` characters."""
    shown = block(text, FULL_LIMIT - 100)
    return shown if len(shown) <= FULL_LIMIT else f"{shown[: FULL_LIMIT - 6]} [...]"


def _hint(fault: Fault) -> str:
    refused = fault.type == "PermissionError" or "can't start new thread" in fault.message
    return _REFUSED if refused else ""


def hide_addresses(text: str) -> str:
    """`text` without addresses in memory, which differ from process to process."""
    return _ADDRESS.sub("0x...", text)
