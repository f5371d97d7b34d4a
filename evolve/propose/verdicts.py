"""What a prompt says of the evaluation of the program to be changed, apart from its metrics. Pure.

Of what a clock measured, so much stands here as tells how far a program is from its limits: below a small share of a
limit it says no more than that. So programs that take next to nothing have equal prompts whenever they are measured.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from evaluator.evaluation import Evaluation, Outcome
from evaluator.objective import Direction
from evaluator.program_files import Files
from evaluator.task import Limits, Suite, Task
from evaluator.untrusted import one_line

LEAST_CPU = 0.01
LEAST_MEMORY = 0.1
"""Shares of a limit below which the prompt says only that it is less."""
MOST_INSTANCES = 5
_ENOUGH = Fraction(9, 10)
"""Instances are named until they make up this share of the whole."""
_MOST_CODE = 160
_NAMED_LINE = re.compile(r"\(line (\d{1,6})((?:, in [^()\s]{1,100})?)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitUsed:
    """A share of a limit. `used` is None where it is less than `least`. In `unit`, rounded to two digits."""

    what: str
    used: str | None
    least: str
    limit: str
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class InstancePart:
    """What one instance comes to, and its share (in per cent, two digits; None where there is none) of the total."""

    instance: int
    about: str
    value: str
    bound: str | None
    percent: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceParts:
    """The instances that hold a program back, the worst first. `bounded`: by their distance from their bounds, which
    adds up to `total`; else by what they come to. `smaller`: smaller values are better. `rest`: how many are not named,
    and `rest_percent` what they make up. `at_bound`: how many reach their bound."""

    bounded: bool
    smaller: bool
    total: str
    named: tuple[InstancePart, ...]
    rest: int
    rest_percent: str | None
    at_bound: int


def limits_used(evaluation: Evaluation, task: Task, limits: Limits) -> tuple[LimitUsed, ...]:
    """How much of its limits a program used; () if it never ran."""
    ran = [result.cpu_s for result in evaluation.results if result.outcome is not Outcome.NOT_RUN]
    if not ran:
        return ()
    shares = [_used("CPU in all", sum(ran), limits.cpu_total_s, LEAST_CPU, "s")]
    if task.calls_entry_point:
        shares.append(_used("CPU on the slowest instance", max(ran), limits.cpu_per_instance_s, LEAST_CPU, "s"))
    if evaluation.peak_memory_mb > 0:
        shares.append(_used("memory", evaluation.peak_memory_mb, limits.memory_mb, LEAST_MEMORY, "MB"))
    return tuple(shares)


def _used(what: str, used: float, limit: float, least: float, unit: str) -> LimitUsed:
    shown = two_digits(used) if used >= least * limit else None
    return LimitUsed(what=what, used=shown, least=f"{least * limit:g}", limit=f"{limit:g}", unit=unit)


def instance_parts(evaluation: Evaluation, task: Task, suite: Suite) -> InstanceParts | None:
    """The instances that hold a correct program back. None where they say nothing: the clock or the program's own
    script makes the score, there is but one, or all are at their bounds."""
    if not evaluation.correct or task.uses_clock or evaluation.self_judged or len(evaluation.results) < 2:
        return None
    costs = {each.instance: each.cost for each in evaluation.results if each.cost is not None}
    bounds = {each.index: each.bound for each in suite.instances if each.bound is not None}
    smaller = evaluation.objective.per_instance is Direction.MINIMISE
    weights = _weights(evaluation, bounds)
    shares = instance_shares(evaluation, bounds)
    if len(weights) < 2 or (bounds and not shares):
        return None
    order = sorted(weights, key=lambda index: (-weights[index] if bounds or smaller else weights[index], index))
    named, part = list[InstancePart](), Fraction()
    for index in order[:MOST_INSTANCES]:
        if bounds and part >= _ENOUGH:
            break
        cost, part = costs[index], part + shares.get(index, 0)
        percent = two_digits(float(100 * shares[index])) if shares else None
        bound = _shown(bounds[index]) if bounds else None
        about = task.judge.describe(suite.instances[index]) if index < len(suite.instances) else ""
        named.append(InstancePart(instance=index, about=about, value=_shown(cost), bound=bound, percent=percent))
    return InstanceParts(
        bounded=bool(bounds),
        smaller=smaller,
        total=_shown(sum(weights.values(), Fraction())),
        named=tuple(named),
        rest=len(weights) - len(named),
        rest_percent=two_digits(float(100 * (1 - part))) if shares else None,
        at_bound=sum(not weight for weight in weights.values()) if bounds else 0,
    )


def _weights(evaluation: Evaluation, bounds: Mapping[int, Fraction]) -> dict[int, Fraction]:
    """The distance of each instance from its bound; where no bounds are known, what it comes to."""
    costs = {result.instance: result.cost for result in evaluation.results if result.cost is not None}
    return {index: abs(cost - bounds[index]) for index, cost in costs.items() if index in bounds} if bounds else costs


def instance_shares(evaluation: Evaluation, bounds: Mapping[int, Fraction]) -> dict[int, Fraction]:
    """How much of that each instance makes up, in the unit that is scored, for prompts and pages alike; {} where shares
    say nothing."""
    weights = _weights(evaluation, bounds)
    total = sum(weights.values(), Fraction())
    return {} if total <= 0 or min(weights.values()) < 0 else {at: weight / total for at, weight in weights.items()}


def with_code(text: str, program: Files) -> str:
    """The detail of an evaluation, with the code next to each line that it names as `(line 41, in solve)`; of several
    files no line is named without its file."""
    if len(program) > 1:
        return text
    lines = program.only.split("\n")

    def with_code(match: re.Match[str]) -> str:
        number = int(match[1])
        code = lines[number - 1].strip()[:_MOST_CODE] if 0 < number <= len(lines) else ""
        return f"(line {number}{match[2]}: `{code}`)" if code else match[0]

    return _NAMED_LINE.sub(with_code, text)


def failure_message(evaluation: Evaluation, program: Files) -> str:
    """Why a program failed, for the model that wrote it. Nothing in it was measured."""
    good, total = sum(result.outcome is Outcome.OK for result in evaluation.results), len(evaluation.results)
    counted = f"; {good} of {total} instances succeeded" if total > 1 and good < total else ""
    headline = f"The patch fits, and the program that results is not correct ({evaluation.outcome.value}){counted}:"
    return f"{headline}\n{with_code(evaluation.detail, program)}"


def first_sentence(text: str, most: int = 200) -> str:
    """The first sentence of a text, on one line of at most `most` characters."""
    return short(re.split(r"(?<=[.!?])\s", text.strip(), maxsplit=1)[0], most)


def short(text: str, most: int) -> str:
    """A text on one line, cut to `most` characters."""
    line = " ".join(text.split())
    return one_line(line if len(line) <= most else f"{line[: most - 3].rstrip()}...", most)


def first_and_last(text: str, most: int = 6) -> str:
    """A long text by its first and last lines, saying how much is left out; whole where that saves fewer than three
    lines. A line longer than 200 characters counts, and is cut, as if it were lines of that length."""
    lines = [line[at : at + 200] for line in text.split("\n") for at in range(0, max(1, len(line)), 200)]
    if len(lines) < 2 * most + 3:
        return text
    left: Sequence[str] = lines[most:-most]
    gap = f"[... {len(left)} lines with {sum(map(len, left))} characters left out ...]"
    return "\n".join([*lines[:most], gap, *lines[-most:]])


def two_digits(number: float) -> str:
    """A number rounded to two digits, without an exponent where it is not tiny or huge."""
    return f"{float(f'{number:.2g}'):g}"


def _shown(number: Fraction) -> str:
    return f"{float(number):.6g}"
