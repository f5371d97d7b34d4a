"""Scores programs of a repository: its tests are the gate, and its benchmark is measured in pairs with unchanged code.

The score is how many times better a program is than the unchanged code: the median of 4 pairs. A program that would
become the best is measured in pairs with the present best, look by look (`evaluator.pairs`), and is better only if a
look says so; its score is then that of the best, times the ratio of the two.

The tests run in the sandbox with the program's own code, which could deceive them: they catch mistakes, not malice.
"""

import itertools
import platform
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from fractions import Fraction
from typing import Final

from evaluator.errors import HarnessError, TaskError
from evaluator.evaluation import (
    FARTHEST,
    Classification,
    Disagreement,
    Evaluation,
    Incumbent,
    InstanceResult,
    Outcome,
    PairedResult,
    StrictReport,
    Summary,
)
from evaluator.feedback import shorten
from evaluator.pairs import (
    FALSE_POSITIVES,
    LOOKS,
    NOISE_RUNS,
    ORDINARY,
    Noise,
    Pair,
    PairedFinding,
    chance,
    look_by_look,
    measured_pairs,
    noise_of,
    ratio_of,
)
from evaluator.program_files import Files
from evaluator.recording import Recording
from evaluator.repository.assessment import Assessment, assessment_of, recorded_failure
from evaluator.repository.commands import BuiltTree, CommandFailed, RepositoryCommands
from evaluator.sandbox.options import SandboxOptions
from evaluator.sandbox.tree import establish_tree
from evaluator.sandbox.turns import OF_THIS_PROCESS, Turns
from evaluator.suite_evaluator import RecordingEvaluator

SKIPPED: Final = ("hash seed", "names", "order")
_MOST_RUNS: Final = 64
_ENOUGH_S: Final = 6.0
"""Runs of the unchanged code for its noise: more than `NOISE_RUNS` only while they take less than these seconds."""
_NO_SCORE: Final = 0.0
_UNCOUNTED: Final = "The tests pass (how many is not known, so their exit status alone is the gate)"


class RepositoryEvaluator(RecordingEvaluator):
    """Scores programs by the repository's own tests and benchmark."""

    def _start(self, confined: SandboxOptions) -> None:
        """Find the strongest sandbox for process trees that this machine reaches."""
        repository = self._task.repository
        assert repository is not None
        self.repository = repository
        self._turns = Turns(self._workers, self._cancellation)
        sandbox = establish_tree(confined)
        self.sandbox = sandbox.level
        self.commands = RepositoryCommands(repository, self.suite.limits, sandbox, self._turns)
        self._open = ExitStack()  # the unchanged code, built; entered when it is first needed
        self._reference: BuiltTree | None = None
        self._noise: Noise | None = None  # of the unchanged code on this machine
        self._lock = threading.Lock()

    def close(self) -> None:
        """Cancel, wait a moment until the commands are gone, and remove the files."""
        self._turns.close()
        self._open.close()
        self.commands.close()

    def evaluate(self, program: Files) -> Evaluation:
        """The verdict on one program: its tests, then pairs with the unchanged code."""
        with self._entered():
            try:
                return self._scored(self._assessed(program))
            except CommandFailed as failed:
                return self._failed(failed)

    def refuse(self, program: Files) -> Evaluation | None:
        """See RecordingEvaluator."""
        try:
            self.commands.check(program)
        except CommandFailed as failed:
            return self._failed(failed)
        return None

    def record(self, program: Files) -> Recording:
        """See RecordingEvaluator."""
        try:
            return self._assessed(program).recorded()
        except CommandFailed as failed:
            return recorded_failure(failed)

    def play(self, program: Files, recording: Recording) -> Evaluation:
        """See RecordingEvaluator. What another machine measured is its word: the evaluation is self-judged."""
        try:
            evaluation = self._scored(assessment_of(recording, self.repository, program, self.commands.unchanged))
        except CommandFailed as failed:
            evaluation = self._failed(failed)
        return replace(evaluation, self_judged=True)

    def require_unchanged(self) -> None:
        """Raises TaskError where the unchanged code does not pass on this machine."""
        try:
            self._assessed(self.commands.unchanged)
        except CommandFailed as failed:
            raise TaskError(f"the unchanged code does not pass here: {failed.detail}") from None

    def evaluate_one(self, program: Files, place: int) -> InstanceResult:
        """The result of the program: a repository is one instance."""
        return self.evaluate(program).results[place]

    def examine(self, program: Files, evaluation: Evaluation, best: Incumbent | None = None) -> Evaluation:
        """`evaluation`, this evaluator's own of `program`, after a second run of the tests and a comparison with `best`
        (None: with the unchanged code)."""
        if not evaluation.correct:
            return evaluation
        with OF_THIS_PROCESS.alone(self._cancellation):
            try:
                with self.commands.tree(program) as tree:
                    self.commands.test(tree)
                    if program == self.commands.unchanged:
                        return self._unchanged_again(evaluation, self._noise_here())
                    finding = self._compared(tree, best)
            except CommandFailed as failed:
                return self._refuted_by(evaluation, failed)
        return self._examined(evaluation, finding, best)

    def measured_again(self, program: Files, than: str) -> PairedResult:
        """A program in as many fresh pairs with the unchanged code as the last look has; `than` is the commit of that
        code. Raises HarnessError where the program fails now."""
        with OF_THIS_PROCESS.alone(self._cancellation):
            try:
                with self.commands.tree(program) as tree:
                    logs = [self._log(pair) for pair in self._pairs_with(self._unchanged(), tree, LOOKS[-1])]
            except CommandFailed as failed:
                raise HarnessError(f"the best program failed when it was measured again: {failed.detail}") from None
        ratio, probability = ratio_of(logs), float(chance(logs))
        is_better = probability <= FALSE_POSITIVES and ratio.times > 1
        return _paired(PairedFinding(is_better=is_better, ratio=ratio, chance=probability, floor=None), than)

    def noise(self) -> Noise:
        """The noise of the unchanged code on this machine, measured here unless the task has it. Raises TaskError where
        the benchmark of the unchanged code fails."""
        with OF_THIS_PROCESS.alone(self._cancellation):
            return self._noise_here()

    def measured_noise(self) -> tuple[float, ...]:
        """Fresh runs of the unchanged code, at least as many as a noise floor needs. Raises TaskError."""
        with OF_THIS_PROCESS.alone(self._cancellation):
            return self._runs_of_unchanged()

    # -- measuring ------------------------------------------------------------------------------------------------

    def _assessed(self, program: Files) -> Assessment:
        """Raises CommandFailed."""
        with self.commands.tree(program) as tree:
            tests = self.commands.test(tree)
            with OF_THIS_PROCESS.alone(self._cancellation):  # two programs would slow each other
                if program == self.commands.unchanged:
                    return Assessment(tests=tests, pairs=(), own=self.commands.measure(tree))
                pairs = tuple(self._pairs_with(self._unchanged(), tree, ORDINARY))
        return Assessment(tests=tests, pairs=pairs, own=statistics.median(pair.candidate for pair in pairs))

    def _compared(self, tree: BuiltTree, best: Incumbent | None) -> PairedFinding:
        """Raises CommandFailed."""
        larger = self.repository.larger_is_better
        if best is None or best.program == self.commands.unchanged:
            return look_by_look(self._pairs_with(self._unchanged(), tree, LOOKS[-1]), larger_is_better=larger)
        with self.commands.tree(best.program) as incumbent:
            return look_by_look(self._pairs_with(incumbent, tree, LOOKS[-1]), larger_is_better=larger)

    def _pairs_with(self, reference: BuiltTree, candidate: BuiltTree, count: int) -> Iterator[Pair]:
        measure = self.commands.measure

        def of_reference() -> float:
            try:
                return measure(reference)
            except CommandFailed as failed:
                raise HarnessError(f"a benchmark that ran before fails now: {failed.detail}") from None

        return itertools.islice(measured_pairs(of_reference, lambda: measure(candidate)), count)

    def _log(self, pair: Pair) -> float:
        return pair.log_ratio(larger_is_better=self.repository.larger_is_better)

    def _unchanged(self) -> BuiltTree:
        """The unchanged code, built. Raises TaskError."""
        with self._lock:
            if self._reference is None:
                try:
                    self._reference = self._open.enter_context(self.commands.tree(self.commands.unchanged))
                except CommandFailed as failed:
                    raise TaskError(
                        f"{self.repository.tree}: the build of the unchanged code fails: {failed.detail}"
                    ) from None
            return self._reference

    def _noise_here(self) -> Noise:
        if self._noise is None:
            kept = self.repository.noise_runs if self.repository.noise_host == platform.node() else ()
            self._noise = noise_of(kept or self._runs_of_unchanged())
        return self._noise

    def _runs_of_unchanged(self) -> tuple[float, ...]:
        tree, runs, began = self._unchanged(), list[float](), time.monotonic()
        try:
            self.commands.measure(tree)  # the first run fills caches
            while len(runs) < NOISE_RUNS or (len(runs) < _MOST_RUNS and time.monotonic() - began < _ENOUGH_S):
                runs += [self.commands.measure(tree), self.commands.measure(tree)]
            return tuple(runs)
        except CommandFailed as failed:
            raise TaskError(
                f"{self.repository.tree}: the benchmark of the unchanged code fails: {failed.detail}"
            ) from None

    # -- verdicts -------------------------------------------------------------------------------------------------

    def _scored(self, assessment: Assessment) -> Evaluation:
        tests, repository = assessment.tests, self.repository
        times = ratio_of([self._log(pair) for pair in assessment.pairs]).times if assessment.pairs else 1.0
        metrics = {self._task.objective.metric: times, "benchmark": assessment.own}
        if tests.count is not None:
            metrics["tests"] = float(tests.count)
        result = InstanceResult(
            instance=self.suite.instances[0].index,
            outcome=Outcome.OK,
            cost=Fraction(times),
            cpu_s=tests.cpu_s,
            wall_s=tests.wall_s,
        )
        counted = _UNCOUNTED if tests.count is None else f"{tests.count} tests pass"
        own = f"{assessment.own:.4g} {repository.measure.unit}".strip()
        pairs = f"in {len(assessment.pairs)} pairs of runs" if assessment.pairs else "by definition"
        feedback = (
            f"{counted}. The benchmark measures {own} ({repository.measure.words}): {times:.3f} times as good as the "
            f"unchanged code, {pairs}."
        )
        evaluation = self._concluded(result, Summary(score=times, published_score=None, metrics=metrics))
        return replace(
            evaluation,
            feedback=feedback,
            peak_memory_mb=tests.peak_memory_mb,
            runtime_s=tests.cpu_s,
            pairs=len(assessment.pairs),
        )

    def _failed(self, failed: CommandFailed) -> Evaluation:
        result = InstanceResult(
            instance=self.suite.instances[0].index,
            outcome=failed.outcome,
            cost=None,
            detail=shorten(failed.detail),
        )
        evaluation = self._concluded(result, Summary(score=_NO_SCORE, published_score=None, metrics={}))
        return replace(evaluation, detail=failed.detail, feedback=failed.feedback)

    def _concluded(self, result: InstanceResult, summary: Summary) -> Evaluation:
        evaluation = self._scorer.score([result], sandbox=self.sandbox, evaluator_version=self.version, summary=summary)
        return replace(evaluation, self_judged=self.repository.self_judged)

    def _refuted_by(self, evaluation: Evaluation, failed: CommandFailed) -> Evaluation:
        """`evaluation` of a program that passed once and fails now."""
        before = evaluation.results[0].exact_result
        difference = Disagreement(
            instance=evaluation.results[0].instance, how="tested again", ordinary=before, found=(failed.outcome, None)
        )
        report = StrictReport(
            agrees=False,
            classification=Classification.NONDETERMINISTIC,
            detail=f"it passed once, and then not again: {failed.detail}",
            differences=(difference,),
            skipped=SKIPPED,
        )
        return replace(self._refuted(evaluation, report), feedback=f"{report.detail}\n\n{failed.feedback}")

    def _examined(self, evaluation: Evaluation, finding: PairedFinding, best: Incumbent | None) -> Evaluation:
        """`evaluation` with the score that the comparison gives."""
        base = 1.0 if best is None else best.score
        result = _paired(finding, "" if best is None else best.commit)
        score, low, high = (min(base * times, FARTHEST) for times in (result.times, result.low, result.high))
        spread = low, high
        than = "the unchanged code" if best is None or best.program == self.commands.unchanged else "the best so far"
        return replace(
            evaluation,
            combined_score=score,
            metrics=dict(evaluation.metrics) | self._with_spread(score, spread),
            results=(replace(evaluation.results[0], cost=Fraction(score)),),
            spread=spread,
            pairs=result.pairs,
            strict=StrictReport(agrees=True, detail=f"in pairs with {than}: {finding.describe()}", skipped=SKIPPED),
            feedback=f"{evaluation.feedback} In pairs with {than} it is {finding.describe()}.",
            against=result,
        )

    def _unchanged_again(self, evaluation: Evaluation, noise: Noise) -> Evaluation:
        """`evaluation` of the unchanged code; equal programs lie within the noise floor of it."""
        within = 1 + noise.floor
        spread = 1 / within, within
        return replace(
            evaluation,
            metrics=dict(evaluation.metrics) | self._with_spread(1.0, spread),
            spread=spread,
            strict=StrictReport(agrees=True, skipped=SKIPPED),
            feedback=f"{evaluation.feedback} {noise.sentence().capitalize()}.",
        )

    def _with_spread(self, score: float, spread: tuple[float, float]) -> dict[str, float]:
        metric = self._task.objective.metric
        return {metric: score, f"{metric}_low": spread[0], f"{metric}_high": spread[1]}


def _paired(finding: PairedFinding, than: str) -> PairedResult:
    assert finding.ratio.interval is not None  # the first look has enough pairs
    low, high = finding.ratio.interval
    return PairedResult(
        than=than,
        times=finding.ratio.times,
        low=low,
        high=high,
        pairs=finding.ratio.pairs,
        chance=finding.chance,
        is_better=finding.is_better,
    )
