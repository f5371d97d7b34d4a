"""What the events of a journal add up to. The same fold serves a run that is being written and one that is opened."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from evolve.archive import refs
from evolve.archive.accounts import Accounts
from evolve.archive.chronicle import Chronicle
from evolve.archive.journal import Entry
from evolve.archive.layout import PROGRAM
from evolve.archive.ranking import better, program_record, scores
from evolve.archive.records import (
    CONFIRMING,
    DEPARTURES,
    WHY,
    AttemptRecord,
    FreshCheck,
    FreshRecord,
    FreshState,
    Funnel,
    GenerationRecord,
    HeldOutRecord,
    MetaRecord,
    Moment,
    ProgramRecord,
    Status,
    followed_of,
)
from evolve.archive.reports import Round
from evolve.archive.schema import EVENTS
from evolve.completion import PatchKey, meta_key
from evolve.usage import Usage

_OF_THE_RUN = frozenset(
    {"created", "called", "summarising", "meta_answered", "summarised", "closed", "resumed", "stopped"}
)
_OPEN = frozenset({Status.ASKED, Status.ANSWERED})
_MAY_FOLLOW = {
    "answered": (Status.ASKED,),
    "lost": (Status.ASKED,),
    "refused": (Status.ASKED, Status.ANSWERED),  # there was no answer, or none that can be used
    "evaluated": (Status.ANSWERED,),
}


class State:
    """The sum of all events so far. `check` says whether an event may come next; `apply` adds one that was written."""

    def __init__(self) -> None:
        self.identity: Mapping[str, Any] = {}
        self.program_file = PROGRAM
        self.config_digest = ""
        self.run_id: str | None = None
        self.programs: list[ProgramRecord] = []
        self._index: dict[int, int] = {}  # where a generation stands in `programs`
        self.by_commit: dict[str, ProgramRecord] = {}
        self.by_generation: dict[int, ProgramRecord] = {}
        self.by_hash: dict[str, ProgramRecord] = {}
        self.places: dict[int, tuple[int, int]] = {}  # where the `evaluated` event of a generation stands
        self.statuses: dict[int, Status] = {}
        self.generations: dict[int, GenerationRecord] = {}  # as they were asked; see `statuses` for how they ended
        self.attempts: dict[int, dict[int, AttemptRecord]] = {}
        self.open: dict[int, None] = {}  # generations without an end, in order
        self.best: ProgramRecord | None = None
        self.held_out: dict[int, HeldOutRecord] = {}  # by generation
        self.fresh: dict[int, FreshCheck] = {}  # by generation
        self.claims: dict[int, str] = {}  # which listed values a program beats, by generation; shown once confirmed
        self.confirmed: dict[int, None] = {}  # generations that were the best under the judge that scores now
        self.refuted: dict[int, None] = {}  # generations that were to be the best, and are not now they are confirmed
        self.excluded: dict[int, None] = {}  # generations
        self.to_rescore: dict[int, None] = {}  # generations that a change of the evaluator wants scored again
        self.next_generation = 0
        self.ended: list[int] = []  # generations with an end, in the order in which they came to it
        self.ended_at_best = 0  # how many had ended when the best program came, that one included
        self.reigns: list[tuple[int, ProgramRecord | None]] = []  # how many had ended when each best came; no best
        self.quarantined: dict[int, None] = {}  # generations
        self.chronicle = Chronicle()
        self.children: dict[str, list[int]] = {}  # by a program's commit: generations that got an answer, ended
        self.accounts = Accounts()
        self.began = self.newest = 0.0  # wall seconds of the first event, and of the newest
        self.times: dict[int, float] = {}  # when each generation came to the status that it has
        self.moments: dict[int, Moment] = {}  # where the run stood when each generation ended
        self.finished: str | None = None
        self.answered_since_stop = False
        self.funnel = Funnel()
        self.chain: str | None = None  # the newest commit of refs/evolve/attempts
        self.certificates: dict[int, str] = {}  # by generation, under the judge that scores now
        self.certificate_chain: str | None = None  # the newest commit of refs/evolve/certificates
        self.question_commits: dict[tuple[int, int], str] = {}  # of the questions that have no end yet
        self.meta = MetaRecord(begun=0, shown=0)
        self.handlers: Mapping[str, Callable[[Mapping[str, Any], Entry], None]] = {
            name: getattr(self, f"_{name}") for name in EVENTS
        }

    # -- what may come next -------------------------------------------------------------------------------------

    def check(self, name: str, event: Mapping[str, Any]) -> None:
        """Raise ValueError if an event cannot follow what was recorded: the caller's mistake, or a damaged file."""
        if name in _OF_THE_RUN:
            if "programs" in event and not 1 <= event["programs"] <= len(self.programs):
                raise ValueError(f"{name} for {event['programs']} programs: {len(self.programs)} are on record")
            return
        if name == "noted":
            if event["generation"] not in (self.statuses if name == "noted" else self.by_generation):
                raise ValueError(f"{name} for generation {event['generation']}: there is no such generation or program")
            return
        if name in ("held_out", "fresh", "rescored", "excluded"):
            if not self._may_be_said(name, self.by_generation.get(event["generation"])):
                raise ValueError(f"{name} for generation {event['generation']}: no program of its own waits for it")
            return
        generation, attempt = event["generation"], event["attempt"]
        what = f"{name} for generation {generation}, attempt {attempt}"
        if name in ("asked", "evaluated"):
            for commit in (*event["parents"], *event["inspirations"]):
                if commit not in self.by_commit:
                    raise ValueError(f"{what}: {commit} is no recorded program")
        if generation in self.statuses and generation not in self.open:
            raise ValueError(f"{what}: that generation has ended ({self.statuses[generation].value})")
        recorded = self.attempts.get(generation, {}).get(attempt)
        if name == "asked":
            if (given := event.get("guidance")) is not None and given["document"] not in self.meta.reports:
                raise ValueError(f"{what}: there is no meta document after {given['document']} programs")
            if recorded is not None and recorded.status is not Status.ASKED:
                raise ValueError(f"{what}: it is answered already")
            return
        if name == "evaluated" and generation not in self.attempts:
            return  # the initial program, which nobody was asked for
        if recorded is None:
            raise ValueError(f"{what}: it was never asked")
        if recorded.status not in _MAY_FOLLOW[name]:
            wanted = " or ".join(_MAY_FOLLOW[name])
            raise ValueError(f"{what}: it is {recorded.status.value}, not {wanted}")

    def _may_be_said(self, name: str, program: ProgramRecord | None) -> bool:
        """Whether an event about a recorded program, or none, may come next."""
        if program is None:
            return False
        if name == "held_out":
            return program.generation not in self.held_out
        if name == "rescored":
            return program.stale or program is self.would_lead()
        return name == "fresh" or (bool(program.parents) and not program.excluded)

    # -- adding an event ----------------------------------------------------------------------------------------

    def apply(self, entry: Entry) -> None:
        """Add an event. Raises KeyError, ValueError or TypeError if it is malformed."""
        event = entry.event
        name = event["event"]
        if (name == "created") != (entry.line == 1):
            raise ValueError("`created` must be the first event, and only that")
        if name not in self.handlers:
            raise ValueError(f"{name!r:.40} is no event that this version of evolve knows")
        self.check(name, event)
        self.newest = float(event["t"])
        self.chronicle.add(event)
        self.handlers[name](event, entry)

    def _created(self, event: Mapping[str, Any], entry: Entry) -> None:
        self.began = self.newest
        self.identity = event["identity"]
        self.program_file = event["identity"].get("program", PROGRAM)
        self.config_digest = event["config"]
        self.run_id = event.get("run_id")

    def _held_out(self, event: Mapping[str, Any], entry: Entry) -> None:
        old = self.by_generation[event["generation"]]
        self.held_out[old.generation] = HeldOutRecord(
            generation=old.generation,
            suite=event["suite"],
            correct=event["correct"],
            combined_score=float(event["combined_score"]),
            ceiling=event["ceiling"],
            value=event["value"],
            value_gap=event["value_gap"],
            costs=tuple(None if cost is None else Fraction(cost) for cost in event["costs"]),
            overfitted=event["overfitted"],
        )
        if event["overfitted"] is not None:
            self._change(old, overfitted=event["overfitted"])
        self._claim(old.generation)  # what was said of it before may not hold now

    def _fresh(self, event: Mapping[str, Any], entry: Entry) -> None:
        sample = FreshRecord(
            generation=event["generation"],
            suite=event["suite"],
            state=FreshState(event["state"]),
            seed=event["seed"],
            instances=event["instances"],
            better=event["better"],
            equal=event["equal"],
            worse=event["worse"],
            correct=event["correct"],
            overfitted=event["overfitted"],
            why=event["why"],
        )
        before = self.fresh_check(sample.generation)
        self.fresh[sample.generation] = FreshCheck(samples=(*before.samples, sample))
        self._claim(sample.generation)

    def fresh_check(self, generation: int) -> FreshCheck:
        """The check of a program on fresh instances, as far as it went."""
        return self.fresh.get(generation, FreshCheck())

    def holds(self, record: ProgramRecord, states: Collection[FreshState]) -> bool:
        """Whether the held-out suite says nothing against a program, and its check on fresh instances is in one of
        these states."""
        held_out = self.held_out.get(record.generation)
        fits = record.overfitted is None and (held_out is None or held_out.correct)
        return fits and self.fresh_check(record.generation).state in states

    def _claim(self, generation: int) -> None:
        """Show that a program is better than every value listed once it is confirmed, and no longer than that."""
        record = self.by_generation[generation]
        shown = self.claims.get(generation) if self.holds(record, CONFIRMING) and not record.excluded else None
        if shown != record.beyond:
            self._change(record, beyond=shown)

    def _change(self, old: ProgramRecord, **fields: Any) -> None:
        """Put a changed record of a program in the place of the old one, wherever that stands."""
        record = replace(old, **fields)
        self._keep(record)
        self.best = record if self.best is old else self.best

    def _excluded(self, event: Mapping[str, Any], entry: Entry) -> None:
        """A person takes a program out. The best is again one that was confirmed as such before; a program that never
        was, and would stand above it, is to be confirmed first: see `would_lead`."""
        old = self.by_generation[event["generation"]]
        self.excluded[old.generation] = None
        self._keep(replace(old, excluded=True, beyond=None))
        if self.best is not old:
            return
        self.best = None
        self.reigns.append((len(self.ended), None))
        leading = None
        for record in (self.by_generation[generation] for generation in self.confirmed):
            leading = record if better(record, leading) else leading
        if leading is not None:
            self._crown(leading)

    def _counts(self, record: ProgramRecord) -> bool:
        return record.correct and not record.stale and not record.excluded

    def would_lead(self) -> ProgramRecord | None:
        """The program that stands above the best since others were excluded, and was never confirmed as the best."""
        leading, settled = self.best, self.confirmed | self.refuted
        for record in filter(self._counts, self.programs) if self.excluded else ():
            if record.generation not in settled and better(record, leading):
                leading = record
        return None if leading is self.best else leading

    def _meta_answered(self, event: Mapping[str, Any], entry: Entry) -> None:
        self.accounts.answered(meta_key(event["key"]), Usage.from_json(event))
        self.chain = event["attempts"]
        self.meta = _meta_after(self.meta, event, self.newest)

    def _summarising(self, event: Mapping[str, Any], entry: Entry) -> None:
        self.meta = _meta_after(self.meta, event, self.newest)

    def _closed(self, event: Mapping[str, Any], entry: Entry) -> None:
        self.meta = _meta_after(self.meta, event, self.newest)

    def _resumed(self, event: Mapping[str, Any], entry: Entry) -> None:
        self.finished = None
        self.config_digest = event.get("config", self.config_digest)
        if "identity" in event:
            self._outdate(event["identity"])
            self.to_rescore = dict.fromkeys(event["rescore"])
        self.accounts.resumed()
        self.accounts.meta_cut_off()

    def _outdate(self, identity: Mapping[str, Any]) -> None:
        """From here on another evaluator scores: what the one before said is compared with nothing any more."""
        self.identity = {**self.identity, **identity}
        for record in self.programs:
            self._keep(replace(record, stale=True))
        self.best, self.held_out, self.fresh, self.certificates = None, {}, {}, {}
        self.confirmed, self.refuted = {}, {}
        self.reigns.append((len(self.ended), None))

    def _rescored(self, event: Mapping[str, Any], entry: Entry) -> None:
        old = self.by_generation[event["generation"]]
        record = self._unclaimed(replace(old, stale=False, overfitted=None, **scores(event["evaluation"])))
        if not old.stale:
            self.refuted[record.generation] = None
        self.places[record.generation] = (entry.offset, entry.length)
        self.to_rescore.pop(record.generation, None)
        self._keep(record)
        self._certify(record.generation, event)
        self._crown(record)

    def _keep(self, record: ProgramRecord) -> None:
        """Put a record in the place of the one that the program had."""
        self.programs[self._index[record.generation]] = record
        self.by_commit[record.commit] = self.by_generation[record.generation] = record
        self._note_quarantine(record)

    def _certify(self, generation: int, event: Mapping[str, Any]) -> None:
        if "certificate" in event:
            self.certificates[generation] = self.certificate_chain = event["certificate"]

    def _unclaimed(self, record: ProgramRecord) -> ProgramRecord:
        """A record as it comes: what it claims against listed values is kept until the program is confirmed."""
        self.claims.pop(record.generation, None)
        if record.beyond is None:
            return record
        self.claims[record.generation] = record.beyond
        return replace(record, beyond=None)

    def _crown(self, record: ProgramRecord) -> None:
        if better(record, self.best):
            self.best = record
            self.confirmed[record.generation] = None
            self.refuted.pop(record.generation, None)
            self.ended_at_best = len(self.ended)
            self.reigns.append((self.ended_at_best, record))

    def _stopped(self, event: Mapping[str, Any], entry: Entry) -> None:
        self.finished = event["reason"]
        self.answered_since_stop = False

    def _noted(self, event: Mapping[str, Any], entry: Entry) -> None:
        """The chronicle has it; nothing else follows from it."""

    def _note_quarantine(self, record: ProgramRecord) -> None:
        if record.quarantine is None:
            self.quarantined.pop(record.generation, None)
        else:
            self.quarantined[record.generation] = None

    def _lost(self, event: Mapping[str, Any], entry: Entry) -> None:
        self.accounts.lost(PatchKey(event["generation"], event["attempt"]))

    def _asked(self, event: Mapping[str, Any], entry: Entry) -> None:
        generation, attempt = event["generation"], event["attempt"]
        self.accounts.asked(PatchKey(generation, attempt), event)
        if event["attempts"] is not None and event["attempts"] != self.question_commits.get((generation, attempt)):
            self.chain = self.question_commits[generation, attempt] = event["attempts"]
        self.generations[generation] = GenerationRecord(
            generation=generation,
            status=Status.ASKED,
            kind=event["kind"],
            model=event["model"],
            island=event["island"],
            parents=tuple(event["parents"]),
            inspirations=tuple(event["inspirations"]),
            position=event["position"],
            why={key: event[key] for key in WHY if key in event},
        )
        self.attempts.setdefault(generation, {})[attempt] = AttemptRecord(
            generation=generation,
            attempt=attempt,
            status=Status.ASKED,
            model=event["model"],
            parent=event["parents"][0],
            prompt=event["prompt"],
            answer=None,
            reason=None,
            message=None,
            guidance=event.get("guidance"),
            departs={key: event[key] for key in DEPARTURES if key in event},
        )
        self._set_status(generation, Status.ASKED)

    def _answered(self, event: Mapping[str, Any], entry: Entry) -> None:
        generation, attempt = event["generation"], event["attempt"]
        usage = Usage.from_json(event)
        self.accounts.answered(PatchKey(generation, attempt), usage)
        self.answered_since_stop |= "tuning" not in event  # else no model was asked
        self.question_commits.pop((generation, attempt), None)
        self.chain = event["attempts"]
        self.attempts[generation][attempt] = replace(
            self.attempts[generation][attempt],
            status=Status.ANSWERED,
            answer=event["answer"],
            usage=usage,
            finish_reason=event["finish_reason"],
            reasoning=event.get("reasoning"),
            tuning=event.get("tuning"),
        )
        self._set_status(generation, Status.ANSWERED)

    def _called(self, event: Mapping[str, Any], entry: Entry) -> None:
        self.accounts.called(event)

    def _summarised(self, event: Mapping[str, Any], entry: Entry) -> None:
        self.meta = _meta_after(self.meta, event, self.newest)

    def _refused(self, event: Mapping[str, Any], entry: Entry) -> None:
        generation, attempt = event["generation"], event["attempt"]
        status = Status(event["status"])
        self.accounts.given_up(PatchKey(generation, attempt))
        self.question_commits.pop((generation, attempt), None)
        if self.attempts[generation][attempt].status is Status.ANSWERED:
            self._count(applied=status is Status.DUPLICATE)
        self.attempts[generation][attempt] = replace(
            self.attempts[generation][attempt],
            status=status,
            reason=event["reason"],
            message=event["message"],
            followed=followed_of(event),
        )
        self._set_status(generation, status if event["final"] else Status.ASKED)

    def _evaluated(self, event: Mapping[str, Any], entry: Entry) -> None:
        record = self._unclaimed(replace(program_record(event), moment=self._moment()))
        generation, attempt = record.generation, event["attempt"]
        self._index[generation] = len(self.programs)
        self.programs.append(record)
        self.by_commit[record.commit] = record
        self.by_generation[generation] = record
        self._note_quarantine(record)
        self.by_hash.setdefault(record.source_hash, record)
        self.places[generation] = (entry.offset, entry.length)
        if generation in self.attempts:
            parent = self.by_commit[record.parents[0]]
            improved = better(record, parent if parent.correct else None)
            self._count(applied=True, new=True, correct=record.correct, improved=improved)
            self.attempts[generation][attempt] = replace(
                self.attempts[generation][attempt], status=Status.EVALUATED, followed=followed_of(event)
            )
        self._set_status(generation, Status.EVALUATED)
        self._certify(record.generation, event)
        self._crown(record)

    def _set_status(self, generation: int, status: Status) -> None:
        self.next_generation = max(self.next_generation, generation + 1)
        self.statuses[generation] = status
        self.times[generation] = self.newest
        if status in _OPEN:
            self.open[generation] = None
        else:
            self.open.pop(generation, None)
            self.moments[generation] = self._moment()
            self.ended.append(generation)
            if generation in self.generations and status is not Status.FAILED:
                self.children.setdefault(self.generations[generation].parents[0], []).append(generation)

    def _moment(self) -> Moment:
        return Moment(t=self.newest, position=len(self.ended) + 1, spent=self.accounts.spent)

    def _count(self, **stages: bool) -> None:
        funnel = self.funnel
        further = {stage: getattr(funnel, stage) + passed for stage, passed in stages.items()}
        self.funnel = replace(funnel, answered=funnel.answered + 1, **further)

    # -- what follows from it -----------------------------------------------------------------------------------

    def refs(self) -> dict[str, str]:
        """Every ref that there should be, in order of name."""
        found = {refs.tag(record.generation): record.commit for record in self.programs}
        if self.best is not None:
            found[refs.BEST] = self.best.commit
        if self.chain is not None:
            found[refs.ATTEMPTS] = self.chain
        if self.certificate_chain is not None:
            found[refs.CERTIFICATES] = self.certificate_chain
        return dict(sorted(found.items()))


def _meta_after(meta: MetaRecord, event: Mapping[str, Any], t: float) -> MetaRecord:
    """What the record says once `event`, written at `t` (wall seconds), is on it.

    A round that was cut off and begins again keeps the answers that were paid for, and so does one that closed a
    session: it is no part of the search, and leaves the next round where it was.
    """
    match event["event"]:
        case "summarising":
            return replace(meta, begun=event["programs"], position=event["position"])
        case "meta_answered":
            return replace(meta, answers={**meta.answers, meta_key(event["key"]): event})
    ended, programs = Round.of(event), event["programs"]
    if ended.report is not None:
        meta = replace(
            meta,
            reports={**meta.reports, programs: ended.report},
            corrections={**meta.corrections, programs: ended.notes},
            written={**meta.written, programs: t},
        )
    if event["event"] == "closed":
        return replace(meta, closings=(*meta.closings, programs))
    return replace(
        meta,
        begun=programs,
        shown=meta.shown if ended.report is None else programs,
        position=None,
        state=meta.state.after(ended),
        problems=ended.failures,
        answers={},
    )
