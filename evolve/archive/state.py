"""What the events of a journal add up to. The same fold serves a run that is being written and one that is opened."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evaluator.evaluation import Evaluation, Outcome
from evolve.archive import refs
from evolve.archive.journal import Entry
from evolve.archive.records import AttemptRecord, GenerationRecord, HeldOutRecord, MetaRecord, ProgramRecord, Status
from evolve.program import Origin, PatchKind
from evolve.usage import NOTHING, Spending, Usage

FORMAT = 1
"""The version of the archive's format, in the first event."""

_OF_GENERATIONS = frozenset({"asked", "answered", "refused", "evaluated", "lost"})
_OF_THE_RUN = frozenset({"created", "called", "meta_answered", "summarised", "resumed", "stopped"})
_KNOWN = _OF_GENERATIONS | _OF_THE_RUN | {"held_out"}
_OPEN = frozenset({Status.ASKED, Status.ANSWERED})


class State:
    """The sum of all events so far. `check` says whether an event may come next; `apply` adds one that was written."""

    def __init__(self) -> None:
        self.identity: Mapping[str, Any] = {}
        self.config_digest = ""
        self.programs: list[ProgramRecord] = []
        self.by_commit: dict[str, ProgramRecord] = {}
        self.by_generation: dict[int, ProgramRecord] = {}
        self.by_hash: dict[str, ProgramRecord] = {}
        self.places: dict[int, tuple[int, int]] = {}  # where the `evaluated` event of a generation stands
        self.statuses: dict[int, Status] = {}
        self.generations: dict[int, GenerationRecord] = {}  # as they were asked; see `statuses` for how they ended
        self.attempts: dict[int, dict[int, AttemptRecord]] = {}
        self.open: dict[int, None] = {}  # generations without an end, in order
        self.best: ProgramRecord | None = None
        self.island_best: dict[int, ProgramRecord] = {}
        self.held_out: dict[int, HeldOutRecord] = {}  # by generation
        self.next_generation = 0
        self.spent = Spending()
        self.began = 0.0  # wall seconds of the first event, and of the newest
        self.newest = 0.0
        self.times: dict[int, float] = {}  # when each generation came to the status that it has
        self.finished: str | None = None
        self.ended = 0  # generations with an end
        self.judged = {Status.REFUSED: 0, Status.DUPLICATE: 0, Status.EVALUATED: 0}
        self.chain: str | None = None  # the newest commit of refs/evolve/attempts
        self._chain_before: tuple[int, int, str | None] | None = None
        self._under_way: dict[str, Usage] = {}  # what each request without an end may take
        self.calls: dict[str, list[Mapping[str, Any]]] = {}
        self.meta = MetaRecord(begun=0, shown=0, state=None, problems=(), documents={}, corrections={}, answers={})

    # -- what may come next -------------------------------------------------------------------------------------

    def check(self, name: str, event: Mapping[str, Any]) -> None:
        """Raise ValueError if an event cannot follow what was recorded: the caller's mistake, or a damaged file."""
        if name in _OF_THE_RUN:
            return
        if name == "held_out":
            if event["generation"] not in self.by_generation or event["generation"] in self.held_out:
                raise ValueError(f"held_out for generation {event['generation']}: no program of its own waits for it")
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
            if recorded is not None and recorded.status is not Status.ASKED:
                raise ValueError(f"{what}: it is answered already")
            return
        if name == "evaluated" and generation not in self.attempts:
            return  # the initial program, which nobody was asked for
        if recorded is None:
            raise ValueError(f"{what}: it was never asked")
        failed = name == "refused" and event["status"] == Status.FAILED
        wanted = Status.ASKED if name in ("answered", "lost") or failed else Status.ANSWERED
        if recorded.status is not wanted:
            raise ValueError(f"{what}: it is {recorded.status.value}, not {wanted.value}")

    def chain_parent(self, generation: int, attempt: int) -> str | None:
        """The commit that the next one of refs/evolve/attempts follows: the newest, unless that one holds this very
        question, put before a crash; then the one before it, so that the crash leaves no trace."""
        if self._chain_before is not None and self._chain_before[:2] == (generation, attempt):
            return self._chain_before[2]
        return self.chain

    # -- adding an event ----------------------------------------------------------------------------------------

    def apply(self, entry: Entry) -> None:
        """Add an event. Raises KeyError, ValueError or TypeError if it is malformed."""
        event = entry.event
        name = event["event"]
        if (name == "created") != (entry.line == 1):
            raise ValueError("`created` must be the first event, and only that")
        if name not in _KNOWN:
            raise ValueError(f"{name!r:.40} is no event that this version of evolve knows")
        self.check(name, event)
        self.newest = float(event["t"])
        match name:
            case "created":
                self._created(event)
            case "asked":
                self._asked(event)
            case "answered":
                self._answered(event)
            case "refused":
                self._refused(event)
            case "evaluated":
                self._evaluated(event, entry)
            case "lost":
                self._lose(event["generation"], event["attempt"])
            case "held_out":
                self.held_out[event["generation"]] = HeldOutRecord(
                    generation=event["generation"],
                    suite=event["suite"],
                    correct=event["correct"],
                    combined_score=float(event["combined_score"]),
                    ceiling=event["ceiling"],
                )
            case "called":
                self._called(event)
            case "meta_answered":
                self._under_way.pop(event["key"], None)
                self.spent = self.spent.plus(Usage.from_json(event))
                self.chain, self._chain_before = event["attempts"], None
                self.meta = replace(self.meta, answers={**self.meta.answers, event["key"]: event})
            case "summarised":
                self._summarised(event)
            case "resumed":
                self.finished = None
                for key in [key for key in self._under_way if key.startswith("meta/")]:
                    self.spent = self.spent.plus(self._under_way.pop(key))  # cut off: what it cost is not known
            case "stopped":
                self.finished = event["reason"]

    def _created(self, event: Mapping[str, Any]) -> None:
        if event["format"] != FORMAT:
            raise ValueError(f"the format is {event['format']!r:.40}, and this version of evolve reads {FORMAT}")
        self.began = self.newest
        self.identity = event["identity"]
        self.config_digest = event["config"]

    def _asked(self, event: Mapping[str, Any]) -> None:
        generation, attempt = event["generation"], event["attempt"]
        self._lose(generation, attempt)  # asked before, and cut off: what that cost is not known
        self._under_way[_patch_key(generation, attempt)] = Usage(cost_usd=float(event["estimate_usd"]))
        if event["attempts"] is not None:
            self._chain_before = (generation, attempt, self.chain_parent(generation, attempt))
            self.chain = event["attempts"]
        self.generations[generation] = GenerationRecord(
            generation=generation,
            status=Status.ASKED,
            kind=event["kind"],
            model=event["model"],
            island=event["island"],
            parents=tuple(event["parents"]),
            inspirations=tuple(event["inspirations"]),
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
        )
        self._set_status(generation, Status.ASKED)

    def _answered(self, event: Mapping[str, Any]) -> None:
        generation, attempt = event["generation"], event["attempt"]
        del self._under_way[_patch_key(generation, attempt)]
        usage = Usage.from_json(event)
        self.spent = self.spent.plus(usage)
        self.chain, self._chain_before = event["attempts"], None
        self.attempts[generation][attempt] = replace(
            self.attempts[generation][attempt],
            status=Status.ANSWERED,
            answer=event["answer"],
            usage=usage,
            finish_reason=event["finish_reason"],
            reasoning=event.get("reasoning"),
        )
        self._set_status(generation, Status.ANSWERED)

    def _called(self, event: Mapping[str, Any]) -> None:
        key, usage = event["key"], Usage.from_json(event)
        self.calls.setdefault(key, []).append(event)
        if event["phase"] == "failed":
            self.spent = self.spent.plus(usage)
            self._under_way[key] = NOTHING  # until it is sent again
        else:
            self.spent = self.spent.sent()
            self._under_way[key] = usage

    def _summarised(self, event: Mapping[str, Any]) -> None:
        programs, document = event["programs"], event["document"]
        self.meta = replace(
            self.meta, begun=programs, state=event["state"], problems=tuple(event["problems"]), answers={}
        )
        if document is not None:
            documents = {**self.meta.documents, programs: document}
            corrections = {**self.meta.corrections, programs: tuple(event["corrections"])}
            self.meta = replace(self.meta, shown=programs, documents=documents, corrections=corrections)
            self.chain, self._chain_before = event["attempts"], None

    def _refused(self, event: Mapping[str, Any]) -> None:
        generation, attempt = event["generation"], event["attempt"]
        status = Status(event["status"])
        self._under_way.pop(_patch_key(generation, attempt), None)
        if status in self.judged:
            self.judged[status] += 1
        self.attempts[generation][attempt] = replace(
            self.attempts[generation][attempt], status=status, reason=event["reason"], message=event["message"]
        )
        self._set_status(generation, status if event["final"] else Status.ASKED)

    def _evaluated(self, event: Mapping[str, Any], entry: Entry) -> None:
        record = program_record(event)
        generation, attempt = record.generation, event["attempt"]
        self.programs.append(record)
        self.by_commit[record.commit] = record
        self.by_generation[generation] = record
        self.by_hash.setdefault(record.source_hash, record)
        self.places[generation] = (entry.offset, entry.length)
        if generation in self.attempts:
            self.judged[Status.EVALUATED] += 1
            self.attempts[generation][attempt] = replace(self.attempts[generation][attempt], status=Status.EVALUATED)
        if _better(record, self.best):
            self.best = record
        if _better(record, self.island_best.get(record.island)):
            self.island_best[record.island] = record
        self._set_status(generation, Status.EVALUATED)

    def _lose(self, generation: int, attempt: int) -> None:
        self.spent = self.spent.plus(self._under_way.pop(_patch_key(generation, attempt), NOTHING))

    def _set_status(self, generation: int, status: Status) -> None:
        self.next_generation = max(self.next_generation, generation + 1)
        self.statuses[generation] = status
        self.times[generation] = self.newest
        if status in _OPEN:
            self.open[generation] = None
        else:
            self.open.pop(generation, None)
            self.ended += 1

    def committed_usd(self, *, but: str | None = None) -> float:
        """What the requests without an end may cost, that with the key `but` aside."""
        return sum(usage.cost_usd or 0.0 for key, usage in self._under_way.items() if key != but)

    # -- what follows from it -----------------------------------------------------------------------------------

    def refs(self) -> dict[str, str]:
        """Every ref that there should be, in order of name."""
        found = {refs.tag(record.generation): record.commit for record in self.programs}
        found |= {refs.island_branch(island): record.commit for island, record in self.island_best.items()}
        if self.best is not None:
            found[refs.BEST] = self.best.commit
        if self.chain is not None:
            found[refs.ATTEMPTS] = self.chain
        return dict(sorted(found.items()))


def _patch_key(generation: int, attempt: int) -> str:
    """The key under which the calls for a question are recorded."""
    return f"patch/{generation}/{attempt}"


def program_record(event: Mapping[str, Any]) -> ProgramRecord:
    """The record of a program from its `evaluated` event."""
    evaluation, origin = event["evaluation"], event["origin"]
    outcome = Outcome(evaluation["outcome"])
    return ProgramRecord(
        generation=event["generation"],
        commit=event["commit"],
        parents=tuple(event["parents"]),
        inspirations=tuple(event["inspirations"]),
        island=event["island"],
        origin=Origin(
            kind=PatchKind(origin["kind"]),
            model=origin["model"],
            patch_name=origin["patch_name"],
            description=origin["description"],
            features=tuple(origin["features"]),
        ),
        source_hash=event["source_hash"],
        outcome=outcome,
        correct=outcome is Outcome.OK and evaluation["quarantine"] is None,
        combined_score=float(evaluation["combined_score"]),
        ceiling=evaluation["ceiling"],
        quarantine=evaluation["quarantine"],
        metrics={**evaluation["metrics"], "runtime_s": evaluation["measured"]["runtime_s"]},
        behaviour=_behaviour(evaluation),
    )


def _behaviour(evaluation: Mapping[str, Any]) -> str:
    failures = [[index, outcome] for index, outcome, _ in evaluation["failures"]]
    found = json.dumps([evaluation["outcome"], evaluation["costs"], failures])
    return hashlib.sha256(found.encode("ascii")).hexdigest()[:16]


def would_be_best(state: State, generation: int, evaluation: Evaluation) -> bool:
    """Whether a program with that evaluation would stand above all others: correct, and of a higher score than the
    best one, or as high and earlier."""
    return evaluation.correct and _above(evaluation.combined_score, generation, state.best)


def _better(record: ProgramRecord, than: ProgramRecord | None) -> bool:
    return record.correct and _above(record.combined_score, record.generation, than)


def _above(score: float, generation: int, than: ProgramRecord | None) -> bool:
    if score != score:  # NaN is no score to compare with
        return False
    return (
        than is None or score > than.combined_score or (score == than.combined_score and generation < than.generation)
    )
