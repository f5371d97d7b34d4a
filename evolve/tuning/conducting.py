"""A search over the numbers of one program, from end to end: which they are, each point scored, what came of it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from evaluator.evaluation import Evaluation
from evaluator.task import Task
from evaluator.untrusted import one_line
from evaluator.waiting import threads
from evolve.errors import InputError
from evolve.language import Language
from evolve.patch import make_patch
from evolve.seams import Evaluator
from evolve.tuning.literals import Parameter, applied, changes, most_promising, parameters
from evolve.tuning.search import PatternSearch, Point, Standing

LEAST: Final = 10
"""Fewer evaluations than that are no search."""
_EACH: Final = 3  # evaluations, at least, for each number that is searched
_SHOWN: Final = 12  # changes that a description lists

NOTHING: Final = MappingProxyType(dict.fromkeys(("evaluations", "numbers", "dropped", "changed"), 0))
"""What the record keeps of a search for which there was nothing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """What came of a search: how many evaluations it took, the numbers that were searched (of `present` in all), those
    that change nothing, the best point with its program, and for how many seconds it went on."""

    present: int
    searched: tuple[Parameter, ...]
    dropped: tuple[int, ...]
    evaluations: int
    start: Standing
    standing: Standing
    point: Point
    source: str
    took_s: float

    @property
    def gained(self) -> bool:
        """Whether a better program was found."""
        return self.standing > self.start

    @property
    def changes(self) -> list[tuple[str, int | float, int | float]]:
        """The numbers that differ in the best program: label, old and new value."""
        return changes(self.searched, self.point)

    @property
    def recorded(self) -> dict[str, int]:
        """What the record keeps of it: see the `answered` event."""
        told = {"numbers": len(self.searched), "dropped": len(self.dropped), "changed": len(self.changes)}
        return {"evaluations": self.evaluations, **told}

    @property
    def summary(self) -> str:
        """What was searched, in words."""
        some = f"{len(self.searched)} of {self.present}" if len(self.searched) < self.present else str(self.present)
        idle = f", {len(self.dropped)} of which change nothing" if self.dropped else ""
        return f"{some} number{'s' if self.present != 1 else ''} searched in {self.evaluations} evaluations{idle}"

    def patch(self, parent: str) -> str:
        """The patch of `parent` that makes the best program, as an answer. Raises PatchError."""
        told = [f"{label} {old!r} -> {new!r}" for label, old, new in self.changes]
        more = f", and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
        first = self.changes[0][0].split(" ")[0].lower()
        what = first if len(told) == 1 else f"{len(told)}_numbers"
        return make_patch(
            parent, self.source, name=f"tune_{what}", description=f"{self.summary}: {', '.join(told[:_SHOWN])}{more}"
        )


def require_tunable(task: Task, *, what: str) -> None:
    """Raise InputError for a task whose score is a speed: one measurement says too little there for a search."""
    if task.uses_clock:
        raise InputError(
            f"{what}: the score of task {task.name!r} is a speed, which is another one at each measurement, so that a "
            "search over numbers would follow chance; tuning is for scores without noise"
        )


def measured_again(evaluator: Evaluator, source: str, evaluation: Evaluation) -> Evaluation:
    """The evaluation of a program whose numbers are to be searched, with what a second measurement shows: made now
    unless the evaluation has it. A program that is not correct has nothing that could be compared."""
    if evaluation.correct and evaluation.strict is None:
        return evaluator.examine(source, evaluation)
    return evaluation


def chance_in(evaluation: Evaluation) -> str | None:
    """Why a search from here would follow chance, by the evaluation of a program that was measured again; None where it
    would not."""
    if evaluation.spread is not None:
        return _follows_chance(f"its score {_varies(evaluation.spread)}")
    if evaluation.strict is not None and not evaluation.strict.agrees:
        return _follows_chance(
            f"it does not do the same when it is asked again ({one_line(evaluation.strict.detail, 300)})"
        )
    return None


def require_repeatable(evaluation: Evaluation, *, what: str) -> None:
    """Raise InputError where there is chance in the evaluation of `what`, a program that was measured again."""
    if (why := chance_in(evaluation)) is not None:
        raise InputError(f"{what}: {why}")


def require_score_without_chance(initial: tuple[float, float] | None, *, what: str) -> None:
    """Raise InputError for a run whose initial program's score has a spread, which is then the task's."""
    if initial is not None:
        raise InputError(f"{what}: {_follows_chance(f'the score of the initial program {_varies(initial)}')}")


def _varies(spread: tuple[float, float]) -> str:
    return f"is another one at each measurement ({spread[0]:.6f} and {spread[1]:.6f})"


def _follows_chance(found: str) -> str:
    return f"{found}, so that a search over numbers would follow chance; tuning is for scores without noise"


def standing_of(evaluation: Evaluation) -> Standing:
    """What the search goes by."""
    return evaluation.correct, evaluation.combined_score


def chosen(source: str, language: Language, *, evaluations: int) -> tuple[int, tuple[Parameter, ...]]:
    """How many numbers of a program are worth searching, and those that so many evaluations allow. Raises ProgramError
    for a broken program."""
    found = parameters(source, language)
    return len(found), most_promising(found, evaluations // _EACH)


def tune(
    source: str,
    language: Language,
    evaluator: Evaluator,
    *,
    start: Standing,
    evaluations: int,
    seed: str | int,
    workers: int,
    tell: Callable[[int, Standing], None] = lambda done, best: None,
    stopped: Callable[[], bool] = lambda: False,
    cancel: Callable[[], object] = lambda: None,
) -> Tuned:
    """Search the numbers of a program, whose own standing is `start`, with so many evaluations, `workers` at a time.

    What is found does not depend on `workers`. `tell` hears after each evaluation how many are done, and the best
    standing. Once `stopped` says so, nothing more is begun, and what was found by then counts. `cancel` is called where
    the search ends by an exception: what is under way then may matter to nobody else. Raises ValueError for a program
    without numbers, and what the evaluator raises.
    """
    present, searched = chosen(source, language, evaluations=evaluations)
    if not searched:
        raise ValueError("the program has no numbers to search")
    search = PatternSearch([one.dimension for one in searched], start=start, seed=seed)
    done, best, began = 0, start, time.monotonic()
    with threads(workers, cancel=cancel) as pool:
        while done < evaluations and not stopped() and (batch := search.ask()[: evaluations - done]):
            jobs = [pool.submit(partial(_scored, source, searched, point, evaluator, stopped)) for point in batch]
            for job in pool.settled(jobs):
                if (standing := job.result()) is not None:
                    done, best = done + 1, max(best, standing)
                    tell(done, best)
            results = [(point, job.result()) for point, job in zip(batch, jobs, strict=True)]
            search.tell([(point, standing) for point, standing in results if standing is not None])
    return Tuned(
        present=present,
        searched=searched,
        dropped=search.dropped,
        evaluations=done,
        start=start,
        standing=search.standing,
        point=search.best,
        source=applied(source, searched, search.best),
        took_s=time.monotonic() - began,
    )


def _scored(
    source: str, searched: Sequence[Parameter], point: Point, evaluator: Evaluator, stopped: Callable[[], bool]
) -> Standing | None:
    return None if stopped() else standing_of(evaluator.evaluate(applied(source, searched, point)))


def to_json(tuned: Tuned) -> dict[str, Any]:
    """A search as plain values: each number with what became of it."""
    rows = []
    for index, (one, value) in enumerate(zip(tuned.searched, tuned.point, strict=True)):
        row = {"label": one.label, "line": one.literal.line, "before": one.literal.value, "after": value}
        rows.append(row | {"dropped": index in tuned.dropped})
    return {
        "evaluations": tuned.evaluations,
        "gained": tuned.gained,
        "score_before": tuned.start[1] if tuned.start[0] else None,
        "score": tuned.standing[1] if tuned.standing[0] else None,
        "numbers_present": tuned.present,
        "numbers": rows,
    }
