"""A search over the numbers of one program, from end to end. In a run it answers the patch kind `tune`."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Final

from evaluator.evaluation import Evaluation
from evaluator.task import Task
from evaluator.untrusted import one_line
from evaluator.waiting import threads
from evolve.archive.reader import RunReader
from evolve.core.completion import Completion, Observer
from evolve.core.config import Config
from evolve.core.errors import InputError, PatchError
from evolve.core.program import TUNER, PatchKind
from evolve.core.usage import Usage
from evolve.evaluation.evaluators import EvaluatorPair
from evolve.lang.languages import Language, language_of
from evolve.patch import make_patch
from evolve.proposal import Request
from evolve.propose.tuning.literals import Parameter, applied, most_promising, parameters
from evolve.propose.tuning.search import PatternSearch, Point, Rank
from evolve.seams import Evaluator, Proposer

LEAST: Final = 10
"""Fewer evaluations than that are no search."""
_MOST: Final = 100_000
_EACH: Final = 3  # evaluations, at least, for each number that is searched
_SHOWN: Final = 12  # changes that a description lists
_CHANCE: Final = "so that a search over numbers would follow chance; tuning is for scores without noise"

NOTHING: Final = MappingProxyType(dict.fromkeys(("evaluations", "numbers", "dropped", "changed"), 0))
"""What the record keeps of a search for which there was nothing to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuned:
    """The result of a search: how many evaluations it took, the numbers that were searched (of `present` in all), those
    that change nothing, the best point with its program, and for how many seconds it went on."""

    present: int
    searched: tuple[Parameter, ...]
    dropped: tuple[int, ...]
    evaluations: int
    start: Rank
    standing: Rank
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
        pairs = zip(self.searched, self.point, strict=True)
        return [(number.label, number.literal.value, new) for number, new in pairs if new != number.literal.value]

    @property
    def summary(self) -> str:
        """What was searched, in words."""
        some = f"{len(self.searched)} of {self.present}" if len(self.searched) < self.present else str(self.present)
        idle = f", {len(self.dropped)} of which change nothing" if self.dropped else ""
        return f"{some} number{'s' if self.present != 1 else ''} searched in {self.evaluations} evaluations{idle}"

    @property
    def taken(self) -> dict[str, int]:
        """What the record keeps of it."""
        counts = {"numbers": len(self.searched), "dropped": len(self.dropped), "changed": len(self.changes)}
        return {"evaluations": self.evaluations} | counts

    def answer(self, parent: str) -> Completion:
        """The result as an answer: a patch of `parent`, or the reason why there is none."""
        answer = partial(Completion, usage=Usage(latency_s=self.took_s), tuning=self.taken)
        if not self.gained:
            return answer(text=f"No better numbers were found: {self.summary}.", finish_reason="no_gain")
        try:
            return answer(text=self._patch(parent))
        except PatchError as error:
            # The answer is then refused like a model's, and recorded with this reason.
            return answer(text=f"No patch can hold what was found: {error}")

    def _patch(self, parent: str) -> str:
        changes = [f"{label} {old!r} -> {new!r}" for label, old, new in self.changes]
        more = f", and {len(changes) - _SHOWN} more" if len(changes) > _SHOWN else ""
        what = changes[0].split(" ")[0].lower() if len(changes) == 1 else f"{len(changes)}_numbers"
        description = f"{self.summary}: {', '.join(changes[:_SHOWN])}{more}"
        return make_patch(parent, self.source, name=f"tune_{what}", description=description)

    def to_json(self) -> dict[str, Any]:
        """The search as plain values: each number with its old and its new value."""
        numbers = [
            {
                "label": parameter.label,
                "line": parameter.literal.line,
                "before": parameter.literal.value,
                "after": value,
                "dropped": index in self.dropped,
            }
            for index, (parameter, value) in enumerate(zip(self.searched, self.point, strict=True))
        ]
        return {
            "evaluations": self.evaluations,
            "gained": self.gained,
            "score_before": self.start[1] if self.start[0] else None,
            "score": self.standing[1] if self.standing[0] else None,
            "numbers_present": self.present,
            "numbers": numbers,
        }


def require_size(evaluations: int, *, option: str) -> None:
    """Raise InputError where an option gives a search too few evaluations, or more than can be meant."""
    if evaluations < LEAST:
        raise InputError(f"{option} {evaluations}: too few for a search, which takes {LEAST} at least")
    if evaluations > _MOST:
        raise InputError(f"{option} {evaluations}: too many; {_MOST} at most, and some hundred will do")


def require_tunable(task: Task, *, what: str) -> None:
    """Raise InputError for a task whose score is a speed: one measurement says too little there for a search."""
    if task.uses_clock:
        raise InputError(
            f"{what}: the score of task {task.name!r} is a speed, which is another one at each measurement, {_CHANCE}"
        )


def require_score_without_chance(initial: tuple[float, float] | None, *, what: str) -> None:
    """Raise InputError for a run whose initial program's score has a spread, which is then the task's."""
    if initial is not None:
        raise InputError(f"{what}: the score of the initial program {_varies(initial)}")


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
        return f"its score {_varies(evaluation.spread)}"
    if evaluation.strict is not None and not evaluation.strict.agrees:
        detail = one_line(evaluation.strict.detail, 300)
        return f"it does not do the same when it is asked again ({detail}), {_CHANCE}"
    return None


def _varies(spread: tuple[float, float]) -> str:
    return f"is another one at each measurement ({spread[0]:.6f} and {spread[1]:.6f}), {_CHANCE}"


def rank_of(evaluation: Evaluation) -> Rank:
    """What the search goes by."""
    return evaluation.correct, evaluation.combined_score


def chosen(source: str, language: Language, *, evaluations: int) -> tuple[int, tuple[Parameter, ...]]:
    """How many numbers of a program are worth searching, and those that `evaluations` allow. Raises ProgramError
    for a broken program."""
    candidates = parameters(source, language)
    return len(candidates), most_promising(candidates, evaluations // _EACH)


@dataclass(slots=True)
class Tuner(Proposer):
    """Searches the numbers of programs with `evaluations` evaluations for each, `workers` at a time. As a proposer it
    proposes the parent with better numbers. Every answer is a function of the request, as far as scores are without
    noise."""

    evaluator: Evaluator
    language: Language
    evaluations: int
    workers: int
    name: str = TUNER
    kinds: frozenset[PatchKind] = frozenset({PatchKind.TUNE})

    def answer(self, request: Request, prompt: str | None, observe: Observer) -> Completion:
        """The patch with the best numbers; where none are better, or the parent's score is not the same when it is
        measured again, the answer says so and holds no patch. Raises EvaluationCancelled, TaskError."""
        source = request.parent.program.source
        if not chosen(source, self.language, evaluations=self.evaluations)[1]:
            return Completion(text="The program has no numbers to search.", finish_reason="no_gain", tuning=NOTHING)
        start = measured_again(self.evaluator, source, request.parent.evaluation)
        if (why := chance_in(start)) is not None:
            return Completion(text=f"Nothing was searched: {why}.", finish_reason="no_gain", tuning=NOTHING)
        return self.tune(source, start, seed=f"{request.seed}:{request.generation}").answer(source)

    def tune(
        self,
        source: str,
        start: Evaluation,
        *,
        seed: str | int,
        tell: Callable[[int, Rank], None] = lambda done, best: None,
        stopped: Callable[[], bool] = lambda: False,
        cancel: Callable[[], object] = lambda: None,
    ) -> Tuned:
        """Search the numbers of a program, whose own evaluation is `start`. What is found does not depend on `workers`.

        `tell` hears after each evaluation how many are done, and the best standing. Once `stopped` says so, nothing
        more is begun, and what was found by then counts. `cancel` is called where the search ends by an exception: what
        is under way then may matter to nobody else. Raises ValueError for a program without numbers, and what the
        evaluator raises.
        """
        present, searched = chosen(source, self.language, evaluations=self.evaluations)
        if not searched:
            raise ValueError("the program has no numbers to search")
        search = PatternSearch([parameter.dimension for parameter in searched], start=rank_of(start), seed=seed)
        done, best, began = 0, search.standing, time.monotonic()

        def score(point: Point) -> Rank | None:
            return None if stopped() else rank_of(self.evaluator.evaluate(applied(source, searched, point)))

        with threads(self.workers, cancel=cancel) as pool:
            while done < self.evaluations and not stopped() and (batch := search.ask()[: self.evaluations - done]):
                jobs = [pool.submit(partial(score, point)) for point in batch]
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
            start=rank_of(start),
            standing=search.standing,
            point=search.best,
            source=applied(source, searched, search.best),
            took_s=time.monotonic() - began,
        )


def tuner_of(config: Config, archive: RunReader, evaluators: EvaluatorPair) -> Tuner:
    """The proposer of the kind `tune` in a run."""
    language = language_of(archive.program_file)
    return Tuner(evaluators.evaluator, language, config.search.tune_evaluations, config.processes)
