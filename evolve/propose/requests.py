"""From a choice of the search to the request that a proposer answers: sources and verdicts, read from the archive."""

import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain

from evaluator.evaluation import Evaluation, Outcome, headline_of_error
from evaluator.program_files import SEVERAL, Files
from evolve.archive.events import AskedEvent, Status
from evolve.archive.ranking import step
from evolve.archive.reader import RunReader
from evolve.archive.records import ProgramRecord, Unfinished
from evolve.core.errors import PatchError, PromptTooLong
from evolve.core.program import PatchKind
from evolve.insights.credit import Credits, change_on, on_medians
from evolve.insights.facts import BY_MEDIANS
from evolve.insights.outcomes import recommendation_of, title_of
from evolve.patch import parse_patch
from evolve.proposal import (
    Change,
    Choice,
    Guidance,
    InFlight,
    MadeFrom,
    Refusal,
    Request,
    Returned,
    ScoredProgram,
    Tried,
)
from evolve.propose.verdicts import first_sentence, short
from evolve.seams import Proposer

TRIED = 12
"""How many earlier proposals a prompt lists; one less for every two in flight, so that prompts stay short."""
MOST_REASON = 100
MOST_DESCRIPTION = 60
"""Characters of why a proposal failed or was refused, and of what it does."""
LATEST = 36
"""How many of the latest generations are looked through for them."""
IN_FLIGHT = 8
"""How many of the proposals that are being worked on a prompt lists."""
DIRECTIONS = 8
"""How many kinds of change there are to suggest. `prompts/request.j2` has their words."""
SUGGESTED = 4 * DIRECTIONS
"""What may be suggested: one of them, or two together, of which one is at most three places after the other."""
CHANGES = 400
"""Of how many programs, the latest, a proposer sees what they changed."""
_NAMED = 8
"""How many instances are named on which an inspiration is better, and worse."""
ANCESTORS = 12
"""How many programs of a line of descent are looked through for lines that come and go."""


class Requests:
    """Makes requests for one run. Programs that were shown lately are kept at hand."""

    def __init__(self, archive: RunReader, *, seed: int, elites: int) -> None:
        self._archive, self._seed, self._elites = archive, seed, elites
        self.renew()

    def renew(self) -> None:
        """Keep nothing at hand: what is on record of a program is otherwise now."""
        archive, elites = self._archive, self._elites
        self._credits = Credits(archive)
        self._scored = lru_cache(maxsize=2 * elites)(self._read)
        self._changes = deque[Change | None](maxlen=CHANGES)
        self._taken_up = 0  # how many programs of the archive are among the changes, or were
        self._text = lru_cache(maxsize=4 * elites)(
            lambda commit: "\n".join(archive.files(archive.find(commit)).values())
        )
        self._returned = lru_cache(maxsize=2 * elites)(self._come_back)
        self._past = lru_cache(maxsize=16 * TRIED)(self._read_past)
        self._named = lru_cache(maxsize=8 * IN_FLIGHT)(self._read_named)

    def make(
        self, generation: int, attempt: int, choice: Choice, refusals: Sequence[Refusal], guidance: Guidance | None
    ) -> Request:
        """The request for one attempt of a generation."""
        archive, given = self._archive, None
        if guidance is not None and guidance.number is not None:
            given = (guidance.document, guidance.number)
        before = [archive.generations[number] for number in self._open_before(generation, attempt)]
        before.sort(key=lambda program: (program.parents[0] != choice.parent.commit, -program.generation))
        return Request(
            seed=self._seed,
            generation=generation,
            attempt=attempt,
            kind=choice.kind,
            parent=self._scored(choice.parent.commit),
            inspirations=tuple(self._inspiration(record, choice.parent) for record in choice.inspirations),
            refusals=tuple(refusals),
            guidance=guidance,
            tried=self._tried(choice.parent.commit, most=TRIED - len(before[:IN_FLIGHT]) // 2),
            in_flight=tuple(map(self._in_flight, before[:IN_FLIGHT])),
            direction=self._direction(generation, choice, given, before),
            changes=self._changed(),
            returned=self._returned(choice.parent.commit),
        )

    def files(self, record: ProgramRecord) -> Files:
        """The files of a program."""
        return self._scored(record.commit).program.files

    def _read_text(self, commit: str) -> str:
        """The texts of a program's files, one after the other."""
        return "\n".join(self._archive.files(self._archive.find(commit)).values())

    def _read(self, commit: str) -> ScoredProgram:
        record = self._archive.find(commit)
        return ScoredProgram(
            program=self._archive.load(record),
            evaluation=replace(self._archive.evaluation(record), private=None),  # templates are anybody's
            made_from=_made_from(record, self._archive.find(record.parents[0])) if record.parents else None,
        )

    def _inspiration(self, inspiration: ProgramRecord, parent: ProgramRecord) -> ScoredProgram:
        against = self._credits.steps(inspiration, parent)
        return replace(self._scored(inspiration.commit), instances="" if against is None else steps_text(against))

    def _changed(self) -> tuple[Change, ...]:
        """What the latest programs changed. Quarantined ones are left out, as below."""
        programs = self._archive.programs
        for child in programs[max(self._taken_up, len(programs) - CHANGES) :]:
            if not child.parents or child.quarantine is not None or child.excluded:
                self._changes.append(None)
                continue
            parent = self._archive.find(child.parents[0])
            gained = step(child, parent) > 0 if child.correct == parent.correct else child.correct
            self._changes.append(Change(parent=parent.commit, features=child.origin.features, gained=gained))
        self._taken_up = len(programs)
        return tuple(change for change in self._changes if change is not None)

    def _come_back(self, commit: str) -> tuple[Returned, ...]:
        """What came back on the way to a program: its nearest ancestors, each the parent of the next, are looked at."""
        line = reversed(self._line(commit)[:ANCESTORS])
        return returned([(record.generation, self._text(record.commit)) for record in line])

    def _line(self, commit: str) -> list[ProgramRecord]:
        """A program and its ancestors, the nearest first: ANCESTORS, and all that are among the latest generations."""
        line, latest = [self._archive.find(commit)], self._archive.next_generation - LATEST
        while line[-1].parents and (len(line) < ANCESTORS or line[-1].generation > latest):
            line.append(self._archive.find(line[-1].parents[0]))
        return line

    def _tried(self, commit: str, *, most: int) -> tuple[Tried, ...]:
        """What became of earlier proposals: the children of a program, those of its ancestors, nearest ancestor first,
        and the latest others. Of each the latest first, and none of the line that led to the program."""
        archive, line, newest = self._archive, self._line(commit), self._archive.next_generation - 1
        near = (number for program in line[:ANCESTORS] for number in reversed(archive.children(program.commit, TRIED)))
        tried: dict[int, Tried | None] = dict.fromkeys(program.generation for program in line)
        for number in chain(near, range(newest, max(0, newest - LATEST), -1)):
            if number not in tried and archive.tried(number):
                tried[number] = self._past(number)
            if sum(program is not None for program in tried.values()) == most:
                break
        return tuple(program for program in tried.values() if program is not None)

    def _read_past(self, number: int) -> Tried | None:
        """How a generation ended. None for a quarantined program, so that no prompt shows how its score was made, and
        for one that a person excluded."""
        archive = self._archive
        asked, program = archive.generations[number], archive.program(number)
        parent = archive.find(asked.parents[0])
        if program is None:
            last = archive.deciding(number)
            assert last is not None
            name, _ = self._named(last.answer, PatchKind(asked.kind))
            if last.failure is None:
                result = f"refused ({last.reason}): {first_sentence(last.message or '', MOST_REASON)}"
            else:
                raised = headline_of_error((last.message or "").partition("\n")[2])
                result = f"not correct ({last.reason}): {short(raised, MOST_REASON)}"
        elif program.quarantine is not None or program.excluded:
            return None
        elif program.correct:
            same_as = self._credits.same_as(program)
            name, result = program.origin.patch_name, _worded_change(program, parent) or "correct"
            if same_as is not None:
                same = f"same results as generation {same_as}"
                result = same if result == "the same" else f"{result} ({same})"
        else:
            name, result = program.origin.patch_name, _failure(archive.evaluation(program))
        return Tried(generation=number, kind=asked.kind, patch_name=name, parent=parent.generation, result=result)

    def _open_before(self, generation: int, attempt: int) -> list[int]:
        """Earlier generations that are in flight. A question that is put again after a kill has those, too, of which it
        has become known since that they get no answer: it is the same question."""
        archive = self._archive
        numbers = [number for number in archive.open_generations if number < generation]
        if attempt == 0 and generation in archive.generations:
            since = archive.turns[archive.generations[generation].position :]
            numbers += [
                number for number, _ in since if number < generation and archive.statuses[number] is Status.FAILED
            ]
        return numbers

    def _in_flight(self, asked: AskedEvent) -> InFlight:
        attempts, kind = self._archive.attempts(asked.generation), asked.kind
        answer = next((attempt.answer for attempt in reversed(attempts) if attempt.answer is not None), None)
        name, description = self._named(answer, kind)
        return InFlight(
            generation=asked.generation,
            kind=kind,
            parent=self._archive.find(asked.parents[0]).generation,
            patch_name=name,
            description=description,
            recommendation=self._title(recommendation_of(attempts)),
            direction=asked.direction,
        )

    def _title(self, given: tuple[int, int] | None) -> str | None:
        """The title of a recommendation, by its report and its number there."""
        if given is None:
            return None
        document, number = given
        recommendations = self._archive.meta.reports[document].recommendations
        return next(map(title_of, recommendations[number - 1 : number]), None)

    def _read_named(self, answer: str | None, kind: PatchKind) -> tuple[str, str]:
        """The name of the patch in an answer, and the first sentence of its description; "" where there is none."""
        try:
            text = "" if answer is None else self._archive.text(answer)
            patch = parse_patch(text, kind, several=self._archive.program_file == SEVERAL)
        except PatchError:
            return "", ""
        return patch.name, first_sentence(patch.description, MOST_DESCRIPTION)

    def _direction(
        self, generation: int, choice: Choice, given: tuple[int, int] | None, before: Sequence[AskedEvent]
    ) -> int | None:
        """The kind of change to suggest; the same one however often a generation is asked. There is one where others
        are in flight and nothing else says which change to make, and where an earlier question was the same."""
        archive = self._archive
        if archive.attempts(generation):
            return archive.generations[generation].direction
        siblings = map(archive.generations.__getitem__, archive.children(choice.parent.commit, 2 * SUGGESTED))
        alike = {
            one.direction
            for one in chain(before, siblings)
            if (one.kind, one.parents[0]) == (choice.kind, choice.parent.commit)
            and set(one.inspirations) == {record.commit for record in choice.inspirations}
            and recommendation_of(archive.attempts(one.generation)) == given
        }
        if not alike and (not before or given is not None or choice.kind not in (PatchKind.DIFF, PatchKind.FULL)):
            return None
        order = random.Random(f"{self._seed}:directions").sample(range(DIRECTIONS), DIRECTIONS)
        turns = [1 + DIRECTIONS * (n // DIRECTIONS) + order[(generation + n) % DIRECTIONS] for n in range(SUGGESTED)]
        return next((one for one in turns if one not in alike), turns[0])


def fitting(proposer: Proposer, request: Request) -> tuple[Request, str | None]:
    """The request with its prompt, or the fullest shorter one whose prompt is not too long. Raises PromptTooLong."""
    too_long: PromptTooLong | None = None
    for shorter in request.shorter():
        try:
            return shorter, proposer.prompt(shorter)
        except PromptTooLong as found:
            too_long = found
    assert too_long is not None
    raise too_long


def recorded_choice(archive: RunReader, begun: Unfinished) -> Choice:
    """The choice that was recorded with the question of a generation that an earlier session began."""
    asked = begun.asked
    return Choice(
        kind=asked.kind,
        island=asked.island,
        parent=archive.find(asked.parents[0]),
        inspirations=tuple(archive.find(commit) for commit in asked.inspirations),
        model=asked.model,
        guided=not asked.unguided,
        picked=asked.picked,
    )


def _made_from(record: ProgramRecord, parent: ProgramRecord) -> MadeFrom | None:
    """How a program stands to its own parent; None where another judge scored that one."""
    if parent.stale:
        return None
    value = parent.value if parent.correct else None
    return MadeFrom(generation=parent.generation, value=value, change=_worded_change(record, parent))


def _worded_change(record: ProgramRecord, parent: ProgramRecord) -> str:
    """How a program differs from its parent, in words; "" where the two cannot be compared."""
    change = change_on(record, parent)
    if change is None:
        return ""
    if change and not step(record, parent):
        return "neither better nor worse by more than chance"
    worded = record.objective.worded(change * record.objective.direction.sign, record.value)
    return f"{worded}{BY_MEDIANS}" if on_medians(record, parent) else worded


def _failure(evaluation: Evaluation) -> str:
    """What failed, by the first instance that did, or by what was said of the whole."""
    failed = (result for result in evaluation.results if result.outcome not in (Outcome.OK, Outcome.NOT_RUN))
    first = next(failed, None)
    if first is None or not first.detail:
        reason = evaluation.detail.strip().rpartition("\n")[2]
    else:
        reason = f"instance {first.instance}: {first.detail}"
    return f"not correct ({evaluation.outcome.value}): {short(reason, MOST_REASON)}"


def steps_text(steps: Sequence[int]) -> str:
    """On which instances a program is better and worse than the one that is to be changed, the first ones by number."""
    sides = (("better", 1), ("worse", -1))
    differing = [(word, [at for at, step in enumerate(steps) if step == sign]) for word, sign in sides]
    return "; ".join(f"{word} on {_numbered(at)}" for word, at in differing if at) or "the same on every instance"


def _numbered(instances: Sequence[int]) -> str:
    shown = ", ".join(map(str, instances[:_NAMED]))
    if len(instances) > _NAMED:
        return f"{len(instances)} instances ({shown}, ...)"
    return f"instance{'s' if len(instances) > 1 else ''} {shown}"


_LEAST = 12
"""Shorter lines (`else:`, `return None`) come and go for no reason of their own."""
_SHOWN = 3
"""How many returns are shown, the latest ones."""


def returned(line: Sequence[tuple[int, str]]) -> tuple[Returned, ...]:
    """What came back along a line of programs (generation and source), the oldest one first: the latest few.

    A line of code counts as removed when it stands nowhere in the next program, so that moving one is no return.
    """
    removed: dict[str, int] = {}
    answers: dict[tuple[int, int], list[str]] = {}
    before: dict[str, None] = dict.fromkeys(_telling(line[0][1])) if line else {}
    for generation, source in line[1:]:
        now = dict.fromkeys(_telling(source))
        for text in now:
            if text not in before and text in removed:
                answers.setdefault((removed.pop(text), generation), []).append(text)
        removed |= dict.fromkeys((text for text in before if text not in now), generation)
        before = now
    back = [Returned(removed=gone, brought_back=at, lines=tuple(texts)) for (gone, at), texts in answers.items()]
    return tuple(back[-_SHOWN:])


def _telling(source: str) -> Iterator[str]:
    stripped = (text.strip() for text in source.splitlines())
    return (text for text in stripped if len(text) >= _LEAST)
