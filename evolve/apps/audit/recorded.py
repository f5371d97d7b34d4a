"""The audit of one of our runs: every recorded program is scored again by the present evaluator.

Programs that were confirmed are confirmed again. Those with a score on the held-out suite are scored there again, and
those that were tried on fresh instances are tried on the same ones, drawn from the recorded seed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import zip_longest
from typing import Final

from evaluator.evaluation import OF_THE_MOMENT, Evaluation, Outcome
from evaluator.fresh import MOST, draw_suite, paired
from evaluator.untrusted import one_line
from evaluator.waiting import threads
from evolve.apps.audit.claims import MOST_OF_WHY, SCORE, Claim, Claimed, ClaimVerdict, claim_of_record
from evolve.apps.audit.folder import FolderAudit
from evolve.apps.audit.measuring import AuditedProgram, KeptResults, measure
from evolve.archive.events import AuditedEvent, FallenData, FreshEvent
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord
from evolve.evaluation.evaluators import EvaluatorPair
from evolve.review.texts import patch_label
from evolve.seams import Evaluator


def score_again(
    archive: RunReader,
    records: Sequence[ProgramRecord],
    evaluator: Evaluator,
    kept: KeptResults | None = None,
    *,
    workers: int = 1,
    step: Callable[[], None] = lambda: None,
) -> list[Evaluation]:
    """Score recorded programs by the present evaluator, and confirm those whose record is a confirmation's."""
    programs = []
    for record in records:
        recorded = archive.evaluation(record)
        met_limit = any(result.outcome in OF_THE_MOMENT for result in recorded.results)
        programs.append(
            AuditedProgram(files=archive.files(record), confirm=recorded.strict is not None, met_limit=met_limit)
        )
    return measure(evaluator, programs, kept, workers=workers, step=step)


_ANOTHER_HELD_OUT: Final = "its score on the held-out suite was not judged: another evaluator or suite made it"


class RunAudit:
    """The audit of one run; `claims` makes it. `size` says how many evaluations of programs it takes."""

    def __init__(self, archive: RunReader, evaluators: EvaluatorPair, kept: KeptResults, *, workers: int) -> None:
        self._archive, self._evaluators, self._kept, self._workers = archive, evaluators, kept, workers
        held_out = evaluators.held_out
        same = held_out is not None and held_out.version == archive.identity.get("held_out")
        self._held_out = archive.held_out_scores if same else {}
        self._held_out_by_another = {} if same else archive.held_out_scores
        checks = archive.fresh_checks.items()
        self._samples = [(generation, sample) for generation, check in checks for sample in check.samples]
        self.size = len(archive.programs) + len(self._held_out)

    def claims(self, *, step: Callable[[], None]) -> list[Claim]:
        """A row for every generation that was begun. `step` is called after each evaluation."""
        archive, claims = self._archive, dict[int, Claim]()
        evaluations = score_again(
            archive, archive.programs, self._evaluators.evaluator, self._kept, workers=self._workers, step=step
        )
        for record, measured in zip(archive.programs, evaluations, strict=True):
            recorded = archive.evaluation(record)
            claim = claim_of_record(
                recorded,
                measured,
                program=record.commit,
                generation=record.generation,
                name=patch_label(record),
            )
            altered = None if record.stale else self._why_altered(recorded, measured)
            if altered is not None:
                claim = replace(claim, verdict=ClaimVerdict.FALLS, why=altered)
            claims[record.generation] = claim
        self._judge_foreign(claims, evaluations)
        for generation, why in self._why_fallen_on_held_out(step):
            claims[generation] = _fallen(claims[generation], why)
        for generation in self._held_out_by_another:
            if claims[generation].verdict is ClaimVerdict.HOLDS:
                claims[generation] = replace(claims[generation], why=_ANOTHER_HELD_OUT)
        for generation, sample in self._samples:
            if claims[generation].verdict is ClaimVerdict.HOLDS:
                claims[generation] = _fallen(claims[generation], self._why_fallen_on_fresh(sample))
        return [
            claims[generation] if generation in claims else self._without_program(generation)
            for generation in sorted(archive.statuses)
        ]

    def _why_altered(self, recorded: Evaluation, measured: Evaluation) -> str | None:
        """Why the rest of the run contradicts what keeps a record from being judged; None if nothing does."""
        scored_by = self._archive.identity.get("evaluator_version")
        if scored_by not in (None, recorded.evaluator_version):
            named = one_line(recorded.evaluator_version, 16)
            run_by = scored_by[:16]
            return f"the record contradicts its run: it names evaluator version {named}, and {run_by} scored the run"
        task = self._evaluators.task
        same = recorded.evaluator_version == measured.evaluator_version
        if same and (recorded.self_judged or recorded.spread is not None) and not (task.self_judged or task.uses_clock):
            return "the record contradicts its task: it calls the score self-judged or random, and a judge makes it"
        return None

    def _judge_foreign(self, claims: dict[int, Claim], evaluations: Sequence[Evaluation]) -> None:
        """Put the verdict on what the folder claims of an imported program in the place of one that holds."""
        pairs = zip(self._archive.programs, evaluations, strict=True)
        measured = {record.generation: result for record, result in pairs if record.claimed is not None}
        claimed = [_claimed_of(self._archive, self._archive.by_generation[generation]) for generation in measured]
        audit = FolderAudit(claimed, self._evaluators.task, self._evaluators.evaluator)
        judged = audit.judge({str(generation): result for generation, result in measured.items()})
        for generation, claim in zip(measured, judged, strict=True):
            ours = claims[generation]
            if ours.verdict is ClaimVerdict.HOLDS:
                claims[generation] = replace(claim, program=ours.program, name=ours.name)

    def _without_program(self, generation: int) -> Claim:
        return Claim(
            program=None,
            generation=generation,
            name=self._archive.generations[generation].kind.value,
            claimed=None,
            measured=None,
            verdict=ClaimVerdict.UNJUDGED,
            why=f"it made no program, so no score is claimed ({self._archive.fault(generation)})",
        )

    def _why_fallen_on_held_out(self, step: Callable[[], None]) -> Iterator[tuple[int, str]]:
        """Each generation whose score on the held-out suite is another one, and why its claim falls."""
        evaluator = self._evaluators.held_out
        if evaluator is None or not self._held_out:
            return
        programs = [
            AuditedProgram(files=self._archive.files(self._archive.by_generation[each])) for each in self._held_out
        ]
        evaluations = measure(evaluator, programs, self._kept, workers=1, step=step)
        for (generation, recorded), measured in zip(self._held_out.items(), evaluations, strict=True):
            before = [None if cost is None else Fraction(cost) for cost in recorded.costs]
            after = [result.cost for result in measured.results]
            if before != after or (recorded.correct, recorded.value) != (measured.correct, measured.value):
                differing = sum(pair[0] != pair[1] for pair in zip_longest(before, after))
                yield (
                    generation,
                    f"on the held-out suite: recorded {recorded.value!r} ({recorded.outcome.value}), measured "
                    f"{measured.value!r} ({measured.outcome.value}); {differing} instances have another exact cost",
                )
                continue
            for name in ("combined_score", "ceiling", "gap", "value_gap", "quarantine"):
                pair = getattr(recorded, name), getattr(measured, name)
                if pair[0] != pair[1]:
                    yield generation, f"on the held-out suite: {name}: recorded {pair[0]!r}, measured {pair[1]!r}"
                    break

    def _why_fallen_on_fresh(self, sample: FreshEvent) -> str | None:
        """Why a claim about fresh instances falls; None where it holds, or where a limit was met this time."""
        task, suite = self._evaluators.task, self._evaluators.evaluator.suite
        if sample.instances > MOST:
            return f"its sample has {sample.instances} fresh instances; no sample has more than {MOST}"
        opened = self._evaluators.others
        if opened is None or not sample.count:
            return None
        fresh = draw_suite(task, suite, sample.instances, sample.seed)
        records = self._archive.programs[0], self._archive.by_generation[sample.generation]
        programs = [self._archive.files(record) for record in records]
        with opened(fresh) as evaluator, threads(1, cancel=evaluator.cancel) as thread:
            initial, program = (
                [thread.result(thread.submit(evaluator.evaluate_one, files, place)) for place in range(sample.count)]
                for files in programs
            )
        if any(result.outcome in OF_THE_MOMENT for result in (*initial, *program)):
            return None
        sign = -task.objective.per_instance.sign
        tally = paired([each.cost for each in initial], program, fresh.instances[: sample.count], sign=sign).tally
        correct = all(result.outcome is Outcome.OK for result in program)
        recorded = (sample.better, sample.equal, sample.worse), sample.correct
        if (tally, correct) == recorded:
            return None
        return f"on fresh instances (better, equal, worse; correct): recorded {recorded}, measured {(tally, correct)}"


def _claimed_of(archive: RunReader, record: ProgramRecord) -> Claimed:
    """What the folder of an imported program claims, under the generation as id: several may have one id there."""
    claim = record.claimed
    assert claim is not None
    score = claim.score if claim.stated is None else _number(claim.stated)
    return Claimed(
        id=str(record.generation),
        generation=record.generation,
        name=claim.id,
        source=archive.files(record).only,
        correct=claim.correct,
        where_from=claim.id,
        numbers={} if score is None else {SCORE: score},
        notes=claim.notes,
    )


def _number(text: str) -> float | None:
    """The number that a text states; None where it states none."""
    try:
        return float(text)
    except ValueError:
        return None


def _fallen(claim: Claim, why: str | None) -> Claim:
    """A claim that falls for a further reason, if there is one and it held so far."""
    held = claim.verdict is ClaimVerdict.HOLDS
    return replace(claim, verdict=ClaimVerdict.FALLS, why=why) if held and why is not None else claim


def event_of(claims: Sequence[Claim], evaluator: Evaluator) -> AuditedEvent:
    """The event of an audit that has ended."""

    def generations(verdict: ClaimVerdict) -> tuple[int, ...]:
        return tuple(claim.generation for claim in claims if claim.verdict is verdict and claim.generation is not None)

    fallen = (claim.to_json() for claim in claims if claim.verdict is ClaimVerdict.FALLS)
    return AuditedEvent(
        evaluator_version=evaluator.version,
        sandbox=evaluator.sandbox,
        holds=generations(ClaimVerdict.HOLDS),
        falls=tuple(
            FallenData(
                generation=row["generation"],
                claimed=row["claimed"],
                measured=row["measured"],
                why=one_line(row["why"], MOST_OF_WHY),
            )
            for row in fallen
        ),
        unjudged=generations(ClaimVerdict.UNJUDGED),
    )
