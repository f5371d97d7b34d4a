"""The facts of one generation that lists, screens, tables, pages and the API show.

A fact is a property of `GenerationView` or an entry of FACTS, and is computed on request. A list, page or table names
its facts in a shape, from which `to_json` makes a row.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any, Final

from evaluator.evaluation import Evaluation, headline_of_error
from evaluator.untrusted import one_line
from evolve.archive.calls import Asked, spending_of
from evolve.archive.events import AskedEvent, AuditedEvent, FallenData, HeldOutEvent, Status
from evolve.archive.ranking import improves, paired_scores
from evolve.archive.reader import RunReader
from evolve.archive.records import OPEN, AttemptRecord, Moment, ProgramRecord
from evolve.core.usage import Spending
from evolve.insights.credit import NOBODY, Credit, Credits, change_on, on_medians
from evolve.insights.outcomes import followed_by_answers, guidance_of, recommendation_of
from evolve.patch.format import PatchReason
from evolve.review.audits import audited_text, fallen_json
from evolve.review.calls import asked_for, attempt_json, with_kinds
from evolve.review.curves import BestHistory
from evolve.review.doubts import why_overfitted
from evolve.review.insights_reports import recommendation_followed
from evolve.review.run_facts import notes_json
from evolve.review.scores import claim_text, fresh_json, score_json
from evolve.review.verdict import failures
from evolve.review.workers import place_json
from evolve.trust import own_audit

STAGES: Final = ("asked", "answered", "parsed", "applied", "new", "correct", "improved", "best")
"""The stages of a generation, in order."""

_NOT_PARSED: Final = frozenset({PatchReason.NO_PATCH, PatchReason.TRUNCATED, PatchReason.MALFORMED})
"""Refusals of an answer without a readable patch. Other reasons refuse a patch that gives no program."""
_UNUSABLE: Final = frozenset({"empty", "refusal", "content_filter", "oversize", "nothing", "length"})
"""How an unusable answer ended."""
_MARKS: Final = {Status.REFUSED: "refused", Status.DUPLICATE: "duplicate", Status.FAILED: "unanswered"}

Shape = dict[str, str]
"""The keys of one kind of row, in order, each with the name of its fact."""


def shape_of(facts: str) -> Shape:
    """A shape from the names of its facts; `key=fact` where the key is another word."""
    pairs = (word.partition("=") for word in facts.split())
    return {key: fact or key for key, _, fact in pairs}


_SCORE: Final = """correct outcome combined_score metric direction value spread confirmed ceiling gap best_known
    gap_to_best_known beyond_best_known self_judged quarantined"""
_TAKEN: Final = "cost_usd tokens tuning_evaluations t"
_PROGRAM: Final = f"""generation commit parents island patch_kind patch_name model {_SCORE} metrics
    overfitted excluded provisional claimed on"""
_VERDICT: Final = """description quarantine held_out fresh reordered remeasured strict failures published_score
    detail feedback private sandbox evaluator_version peak_memory_mb"""

LISTED: Final = shape_of(f"{_PROGRAM} held_out fresh reordered")
"""A program in `list RUN --json`."""
PROPOSED: Final = shape_of(f"generation status {_TAKEN} picked attempts notes")
"""A generation without a program in `show --json`."""
SHOWN: Final = shape_of(
    f"status {_PROGRAM} {_TAKEN} picked inspirations features change=score_change {_VERDICT} attempts notes"
)
"""A program in `show --json`."""
STEP: Final = shape_of(
    f"""{_PROGRAM} held_out inspirations description recommendation quarantine tuning_evaluations
    change=score_change"""
)
"""A program in `lineage --json`."""
_CALLED: Final = "calls=called retries repairs repairs_usd"
BEGUN: Final = shape_of(
    f"generation status reason kind=asked_kind model=asked_model guidance followed {_CALLED} {_TAKEN}"
)
"""A generation in `list RUN --json` and `Run.generations`."""
ROW: Final = shape_of(
    f"""generation commit parents=parent_generations inspirations=inspiration_generations island patch_kind patch_name
    description features model {_SCORE} claimed_score quarantine excluded held_out=held_out_score
    held_out_gap=held_out_score_gap {_TAKEN}"""
)
"""A program in `Run.programs`, whose metrics follow, each as `metrics.<name>`."""
CSV: Final = shape_of("generation status reason") | ROW | shape_of(f"{_CALLED} peak_memory_mb")
"""A generation in `export --csv`."""
COLUMNS: Final = shape_of(
    f"""n=generation status reason mark stage kind=patch_kind model island parents=parent_generations
    inspirations=inspiration_generations value=correct_value score=combined_score base change=value_change medians
    best_after name=shown_name why {_TAKEN} seconds spent_usd_after tokens_after position held_out=held_out_value
    overfitted=why_overfitted excluded fallen stale features commit wins best_wins document guidance followed
    held_out_gap=held_out_value_gap host"""
)
"""A generation in the columns that pages are drawn from."""
PAGE_OF_PROGRAM: Final = shape_of(f"{_VERDICT} audited excluded runtime_s claim")
"""The page of a program, without its texts and results."""


class GenerationReader:
    """Reads the generations of one run, and keeps the values that several of them need."""

    def __init__(self, archive: RunReader) -> None:
        self.archive = archive
        self.credits = Credits(archive)
        self._read = lru_cache(maxsize=4)(self._evaluation)

    def view(self, generation: int) -> "GenerationView":
        """The view of a generation. Raises KeyError if it was not begun."""
        questions = self.archive.attempts(generation)
        return GenerationView(
            reader=self,
            generation=generation,
            status=self.archive.statuses[generation],
            program=self.archive.program(generation),
            asked=self.archive.generations[generation] if questions else None,
            questions=questions,
        )

    def views(self, generations: Iterable[int]) -> list["GenerationView"]:
        """The views of these generations, in the order given."""
        return list(map(self.view, generations))

    @property
    def best(self) -> "GenerationView | None":
        """The view of the best program; None while none is correct."""
        return None if self.archive.best is None else self.view(self.archive.best.generation)

    @cached_property
    def best_history(self) -> BestHistory:
        """The best value at each journal position."""
        return BestHistory(self.archive)

    @cached_property
    def audited(self) -> AuditedEvent | None:
        """The newest audit, if it was made here."""
        return own_audit(self.archive)

    @cached_property
    def fallen(self) -> Mapping[int, FallenData]:
        """The claims that fell in the newest audit, by generation."""
        return {} if self.audited is None else {each["generation"]: each for each in self.audited.falls}

    @cached_property
    def new_bests(self) -> frozenset[int]:
        """The generations whose program was a new best."""
        return frozenset(record.generation for _, record in self.archive.best_history if record is not None)

    def generations(self, commits: Iterable[str]) -> list[int]:
        """The generations of these programs."""
        return [self.archive.find(commit).generation for commit in commits]

    def evaluation(self, program: ProgramRecord) -> Evaluation:
        """The whole evaluation of a program; the last few are kept."""
        return self._read(program.generation, program.stale)

    def _evaluation(self, generation: int, stale: bool) -> Evaluation:
        """The evaluation by generation and judge: a rescored program has another one."""
        program = self.archive.program(generation)
        assert program is not None and program.stale is stale
        return self.archive.evaluation(program)


@dataclass(frozen=True, kw_only=True, eq=False)
class GenerationView:
    """One generation, with its program if it has one. `asked` is the proposal, None for the initial program;
    `questions` are its attempts. A fact is None if it is unknown or does not apply."""

    reader: GenerationReader
    generation: int
    status: Status
    program: ProgramRecord | None
    asked: AskedEvent | None
    questions: Sequence[AttemptRecord]

    def to_json(self, shape: Shape) -> dict[str, Any]:
        """The facts of a shape as plain values."""
        score = {} if self.program is None or SCORE.isdisjoint(shape.values()) else score_json(self.program)
        return {key: score[fact] if fact in score else self._fact(fact) for key, fact in shape.items()}

    def _fact(self, name: str) -> Any:
        if name in SCORE or (name in EVALUATION and self.program is None):
            return None
        if name in EVALUATION:
            return getattr(self.evaluation, name)
        return FACTS[name](self) if name in FACTS else getattr(self, name)

    def row(self, shape: Shape) -> dict[str, Any]:
        """A flat row: the facts of a shape, then each metric."""
        metrics = {} if self.program is None else self.program.metrics
        return self.to_json(shape) | {f"metrics.{name}": value for name, value in metrics.items()}

    @property
    def made_from(self) -> ProgramRecord | AskedEvent | None:
        """The record with its parents, inspirations and island: its program, else its proposal."""
        return self.program or self.asked

    @property
    def parent(self) -> ProgramRecord | None:
        """The program that was patched to make its own."""
        return self.reader.archive.find(self.program.parents[0]) if self.program and self.program.parents else None

    @property
    def patch_kind(self) -> str:
        """The kind of its program's patch; without a program, the requested kind."""
        return self.asked_kind if self.program is None else self.program.origin.kind.value

    @property
    def asked_kind(self) -> str:
        """The kind that was chosen for it."""
        return "initial" if self.asked is None else self.asked.kind.value

    @property
    def asked_model(self) -> str:
        """The model that was chosen for it."""
        return "" if self.asked is None else self.asked.model

    @property
    def features(self) -> list[str]:
        """What the patch changed."""
        return [] if self.program is None else list(self.program.origin.features)

    @property
    def document(self) -> int | None:
        """The insights report in its first prompt, by the number of programs before that report."""
        given = guidance_of(self.questions)
        return None if given is None else given["document"]

    @property
    def calls(self) -> list[Asked]:
        """Each question with its HTTP attempts."""
        return asked_for(self.reader.archive, self.generation)

    @cached_property
    def spent(self) -> Spending:
        """The cost of all its calls."""
        return spending_of(self.calls)

    @cached_property
    def called(self) -> int:
        """The number of its model calls."""
        return sum(len(sent) for _, sent in self.calls)

    def spent_on(self, kind: str) -> Spending:
        """The cost of its calls of one kind (see `evolve.review.calls.KINDS`)."""
        spending = Spending()
        for each, call in with_kinds(self.calls):
            spending = spending.sent().plus(call.usage) if each == kind else spending
        return spending

    @property
    def t(self) -> float:
        """The time of its status, in wall seconds."""
        return self.reader.archive.times[self.generation]

    @cached_property
    def moment(self) -> Moment | None:
        """The state of the run at its end; None while it is open."""
        return None if self.status in OPEN else self.reader.archive.ended_generation(self.generation).moment

    @property
    def reason(self) -> str | None:
        """A short reason why it has no correct program; None if it has one or has not ended."""
        if self.program is not None:
            if self.program.quarantine is not None:
                return "quarantined"
            return None if self.program.correct else self.program.outcome.value
        return None if self.status in OPEN or self.deciding is None else self.deciding.reason

    @property
    def deciding(self) -> AttemptRecord | None:
        """The attempt that explains why there is no program (see `RunReader.deciding`)."""
        return self.reader.archive.deciding(self.generation)

    @property
    def ended_as(self) -> str:
        """How it ended, in a word or two."""
        if self.is_machine_lost:
            return "not evaluated: its workers were lost; `resume` evaluates it"
        if self.status in OPEN:
            return "not ended"
        if self.status is Status.EVALUATED:
            return "ok" if self.reason is None else self.reason
        return self.status.value if self.reason in (None, self.status.value) else f"{self.status.value}: {self.reason}"

    @property
    def is_machine_lost(self) -> bool:
        """Whether its program waits for `resume`, since the workers that evaluated it were lost."""
        return self.status is Status.MACHINE_LOST

    @property
    def is_failed(self) -> bool:
        """Whether it ended without a correct program."""
        return self.status not in OPEN and self.reason is not None

    @property
    def is_correct(self) -> bool:
        """Whether it has a correct program."""
        return self.program is not None and self.program.correct

    @property
    def mark(self) -> str:
        """best (a new best), correct, failed, quarantined; without a program refused, duplicate, unanswered, open."""
        if self.program is None:
            return "open" if self.status in OPEN else mark_of(self.status, self.deciding)
        if self.program.quarantine is not None:
            return "quarantined"
        if not self.program.correct:
            return "failed"
        return "best" if self.generation in self.reader.new_bests and not self.program.excluded else "correct"

    @cached_property
    def stage(self) -> int | None:
        """The last stage that it reached: an index of STAGES; None for the initial program."""
        return None if self.generation == 0 else STAGES.index(self._stage())

    def _stage(self) -> str:
        if self.program is None:
            return self._stage_without_program()
        if not self.program.correct:
            return "new"
        if self.generation in self.reader.new_bests:
            return "best"
        return "improved" if self.parent is None or improves(self.program, self.parent) else "correct"

    def _stage_without_program(self) -> str:
        last = self.deciding
        if self.status is Status.DUPLICATE:
            return "applied"
        if self.mark == "failed":
            return "new"
        if last is None or last.answer is None:
            return "asked"
        unparsed = self.status in OPEN or last.reason in _NOT_PARSED or last.reason in _UNUSABLE
        return "answered" if unparsed else "parsed"

    @property
    def whole_fault(self) -> str:
        """Why it has no correct program: the refusal of its last answer, the quarantine of its program, or the error
        that its program raised."""
        if self.is_machine_lost:
            return self.reader.archive.machines_lost[self.generation]
        if self.program is None:
            message = "" if self.deciding is None else self.deciding.message or ""
            return message.partition("\n")[2] if self.mark == "failed" else message
        return "" if self.program.correct else self.program.quarantine or self.evaluation.detail

    @cached_property
    def fault(self) -> str:
        """The most telling line of `whole_fault`."""
        return headline_of_error(self.whole_fault)

    @property
    def why(self) -> str:
        """The author's description of the patch; for a failure, its fault."""
        return one_line(self.program.origin.description if self.program and self.program.correct else self.fault, 400)

    @property
    def evaluation(self) -> Evaluation:
        """The whole evaluation of its program, read from the journal again."""
        assert self.program is not None
        return self.reader.evaluation(self.program)

    @cached_property
    def credit(self) -> Credit:
        """The program to measure it against: its parent, or for a crossover the best program in its prompt."""
        return NOBODY if self.program is None else self.reader.credits.of(self.program)

    @property
    def value_change(self) -> float | None:
        """Its gain over the program of `credit`, in the task's metric and direction."""
        return None if self.program is None else change_on(self.program, self.credit.base)

    @property
    def held_out_record(self) -> HeldOutEvent | None:
        """Its score on the held-out suite; None for a program that was never the best."""
        return self.reader.archive.held_out_scores.get(self.generation)

    @property
    def fresh(self) -> dict[str, Any] | None:
        """The check on fresh instances at a session's end; None for a program that was the best at none."""
        check, best = self.reader.archive.fresh_check(self.generation), self.reader.archive.best
        return fresh_json(check) if self.program and (check.samples or self.program is best) else None

    @property
    def why_overfitted(self) -> str | None:
        """Why its gain on the suite is not trusted; None without a reason."""
        return None if self.program is None else why_overfitted(self.reader.archive, self.program)


SCORE: Final = frozenset(shape_of(f"{_SCORE} metrics"))
"""Facts that an evaluation without a generation also has (see `score_json`)."""
EVALUATION: Final = frozenset(
    shape_of("published_score detail feedback private sandbox evaluator_version peak_memory_mb runtime_s")
)
"""Facts that are fields of the whole evaluation."""
_HELD_OUT: Final = ("suite", "combined_score", "correct", "value", "ceiling", "gap")

FACTS: Final[Mapping[str, Callable[[GenerationView], Any]]] = {
    "status": lambda g: g.status.value,
    # its origin
    "commit": lambda g: g.program and g.program.commit,
    "parents": lambda g: list(g.made_from.parents) if g.made_from else [],
    "parent_generations": lambda g: g.reader.generations(g.made_from.parents) if g.made_from else [],
    "inspirations": lambda g: list(g.made_from.inspirations) if g.made_from else [],
    "inspiration_generations": lambda g: g.reader.generations(g.made_from.inspirations) if g.made_from else [],
    "island": lambda g: g.made_from and g.made_from.island,
    "model": lambda g: g.asked_model if g.program is None else g.program.origin.model,
    "patch_name": lambda g: g.program and g.program.origin.patch_name,
    "shown_name": lambda g: one_line(g.program.origin.patch_name, 200) if g.program else "",
    "description": lambda g: g.program and g.program.origin.description,
    "picked": lambda g: g.asked and g.asked.picked and asdict(g.asked.picked),
    "guidance": lambda g: recommendation_of(g.questions),
    "recommendation": lambda g: recommendation_followed(g.reader.archive, g.generation),
    "followed": lambda g: followed_by_answers(g.questions),
    # its cost, and when it ended
    "attempts": lambda g: list(map(attempt_json, g.calls)),
    "retries": lambda g: g.spent_on("retry").calls,
    "repairs": lambda g: g.spent_on("repair").calls,
    "repairs_usd": lambda g: g.spent_on("repair").cost_usd,
    "cost_usd": lambda g: g.spent.cost_usd,
    "tokens": lambda g: g.spent.tokens,
    "tuning_evaluations": lambda g: _sum([q.tuning["evaluations"] for q in g.questions if q.tuning is not None]),
    "seconds": lambda g: g.reader.archive.timeline.seconds(g.t),
    "position": lambda g: g.moment and g.moment.position,
    "spent_usd_after": lambda g: g.moment and g.moment.spent.known_usd,
    "tokens_after": lambda g: g.moment and g.moment.spent.tokens,
    "best_after": lambda g: g.moment and g.reader.best_history.value_at(g.moment.position),
    "notes": lambda g: notes_json(g.reader.archive, g.generation),
    # the evaluation of its program
    "on": lambda g: g.program and place_json(g.program.on),
    "host": lambda g: g.program.on.host if g.program and g.program.on else None,
    "strict": lambda g: g.program and (None if (report := g.evaluation.strict) is None else report.to_json()),
    "reordered": lambda g: (o := g.reader.archive.reordered.get(g.generation)) and asdict(o),
    "remeasured": lambda g: (o := g.reader.archive.remeasured.get(g.generation)) and asdict(o),
    "failures": lambda g: g.program and failures(g.evaluation),
    "quarantine": lambda g: g.program and g.program.quarantine,
    "overfitted": lambda g: g.program and g.program.overfitted,
    "excluded": lambda g: g.program and g.program.excluded,
    "fallen": lambda g: (fallen := g.reader.fallen.get(g.generation)) and fallen_json(fallen),
    "audited": lambda g: audited_text(g.reader.audited, g.generation),
    "claimed": lambda g: g.program and g.program.claimed and asdict(g.program.claimed),
    "claim": lambda g: g.program and g.program.claimed and claim_text(g.program.claimed),
    "claimed_score": lambda g: g.program and g.program.claimed and g.program.claimed.score,
    "provisional": lambda g: g.generation in g.reader.archive.waiting,
    "stale": lambda g: g.program is not None and g.program.stale,
    "score_change": lambda g: g.parent and g.program and (p := paired_scores(g.program, g.parent)) and p[0] - p[1],
    "medians": lambda g: g.program is not None and on_medians(g.program, g.credit.base),
    "correct_value": lambda g: g.program.value if g.program and g.program.correct else None,
    "base": lambda g: g.credit.base and g.credit.base.generation,
    "wins": lambda g: g.credit.against_base,
    "best_wins": lambda g: g.credit.against_best,
    "held_out": lambda g: (held := g.held_out_record) and {name: getattr(held, name) for name in _HELD_OUT},
    "held_out_score": lambda g: (held := g.held_out_record) and held.combined_score,
    "held_out_score_gap": lambda g: (held := g.held_out_record) and held.gap,
    "held_out_value": lambda g: (held := g.held_out_record) and (held.value if held.correct else None),
    "held_out_value_gap": lambda g: (held := g.held_out_record) and (held.value_gap if held.correct else None),
}
"""The facts that are not properties of a view. To add one, add a line here and its name to the shapes that show it."""


def mark_of(status: Status, deciding: AttemptRecord | None) -> str:
    """How a generation without a program ended; `deciding` is the attempt that explains it."""
    return _MARKS[status] if deciding is None or deciding.failure is None else "failed"


def _sum(counts: Sequence[int]) -> int | None:
    return sum(counts) if counts else None
