"""Running a program on instances, in processes of a worker pool: what it answered, judged, and how it ended.

`run` asks one process for everything, in order. Nobody is blamed for what may be somebody else's fault:

- What a program waited for a core counts against no limit of its own (`evaluator.sandbox.supervisor`).
- Where the harness failed, or the kernel killed the program's process (memory is short), it is found out whose fault it
  was (`evaluator.blame`): the machine's is a HarnessError, the program's a crash of its own.
- Where the task's adapter failed, the control is asked the same. Where it fails too it is the adapter: TaskError.

Where a judge asks item by item, a conversation is put to the candidate in lock-step: the next item is made, and sent,
only after the last answer. Three things hold for each item: its request carries a nonce of its own, drawn when it is
sent, so that no reply can be written before it; nothing but the one reply may stand in the channel; and at the end the
candidate is asked to say so, which brings to light what it wrote beyond its replies.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from evaluator import explain
from evaluator.blame import TakesItsWorkerDown, tried
from evaluator.certificate import KeptAnswers
from evaluator.conversation import Conversation
from evaluator.errors import TaskError
from evaluator.evaluation import InstanceResult, Outcome, Verdict
from evaluator.sandbox import protocol
from evaluator.sandbox.pool import WorkerPool
from evaluator.sandbox.supervisor import Candidate, Exchange
from evaluator.sandbox.worker import Worker
from evaluator.slow_judge import TimedJudge
from evaluator.task import Instance, Suite, Task
from evaluator.untrusted import one_line

SOURCE_LIMIT: Final = 1 << 20
"""The longest source that is given to a candidate's process, in characters."""
MOST_ANSWERED: Final = 16 * 1024 * 1024
"""The most bytes of answers to one instance: what a harness keeps of them has to fit in its memory."""
_SUSPECT: Final = frozenset({Outcome.CRASH, Outcome.FORBIDDEN, Outcome.PROTOCOL})
"""Outcomes after which a worker is replaced, though nothing is known to be wrong with it."""


def seed_of(shown: Any) -> int:
    """The seed of `random` and `numpy.random`: a function of what the program is shown, so that no draw tells it more.

    A seed made of the suite and the place in it would name the instance. A program could look up its answer, tell the
    held-out suite from the suite, and know the items of a conversation that are still to come. Neither the order of the
    data nor which name stands where counts: strict re-evaluation changes both, and no draw may show that."""
    text = "\n".join(sorted(_scalars(shown)))
    return int.from_bytes(hashlib.sha256(text.encode("ascii")).digest()[:4], "big")


def _scalars(data: Any) -> Iterator[str]:
    """All keys and values of plain data as JSON, one by one."""
    waiting = [data]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple):
            waiting += value
        else:
            yield json.dumps(value)


LOAD_SEED: Final = seed_of("load")
"""For the time before the first instance: the same for all suites."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An instance as it is judged, and the request that puts it to a program. `ordinary` is the instance as it stands
    in its suite, by which `random` is seeded."""

    instance: Instance
    ordinary: Instance
    request: bytes  # of the instance as a whole; a judge that asks item by item puts it otherwise


@dataclass(slots=True, kw_only=True)
class Execution:
    """What running one program came to, before it is scored: a result per question, in their order."""

    results: list[InstanceResult] = field(default_factory=list)
    outcome: Outcome = Outcome.OK
    detail: str = ""
    peak_memory_mb: float = 0.0
    unprepared: Question | None = None  # the first that the task's adapter made no arguments of
    adapter_fault: protocol.Fault | None = None  # and what the program's process said of that


def question(instance: Instance, data: Any = None) -> Question:
    """The question that an instance puts; `data`: another wording of it, asked with the same seed."""
    worded = instance if data is None else replace(instance, data=data)
    request = protocol.instance_fields(seed_of(instance.data), worded.data)
    return Question(instance=worded, ordinary=instance, request=request)


def not_run(questions: Sequence[Question]) -> list[InstanceResult]:
    """The results of a program that was asked nothing."""
    return [_not_run(question.instance.index) for question in questions]


class Runner:
    """Runs programs for one task and suite; used by several threads at once. `control` is the source of a program
    that is known to run, by which the fault of a program is told from that of the machine or the task."""

    def __init__(self, task: Task, suite: Suite, *, control: str) -> None:
        self._task = task
        self._suite = suite
        self._control = control
        self._judge = TimedJudge(task, suite)

    def run(
        self, source: str, questions: Sequence[Question], pool: WorkerPool, *, kept: KeptAnswers | None = None
    ) -> Execution:
        """Put the questions to a process of its own, in their order; `kept` gets what it answers.

        Raises TaskError, HarnessError and EvaluationCancelled, none of which says anything about the program.
        """
        execution = self._tried(source, questions, pool, kept)
        if execution.unprepared is not None:
            self._clear_adapter(execution.unprepared, pool)
        return execution

    def _tried(
        self, source: str, questions: Sequence[Question], pool: WorkerPool, kept: KeptAnswers | None = None
    ) -> Execution:
        try:
            return tried(
                lambda: self._run(source, questions, pool.worker(), kept),
                lambda: self._run(source, questions, pool.alone(), kept),
                lambda: self._run(self._control, questions, pool.alone()),
                pool.cancellation,
            )
        except TakesItsWorkerDown as why:
            return Execution(outcome=Outcome.CRASH, detail=str(why), results=not_run(questions))

    def _clear_adapter(self, question: Question, pool: WorkerPool) -> None:
        """Raises TaskError when the adapter fails for the control as well. What a candidate's process says is not
        believed: it shares the process with the adapter, and may have broken it."""
        fault = self._tried(self._control, [question], pool).adapter_fault
        if fault is None:
            return
        said = one_line(fault.text, 300)
        where = f" line {fault.lines[-1][0]}, {fault.lines[-1][1]}()" if fault.lines else ", prepare()"
        raise TaskError(f"{self._task.adapter_file}{where}: raised {said} on instance {question.instance.index}")

    def _run(
        self,
        source: str,
        questions: Sequence[Question],
        place: AbstractContextManager[Worker],
        kept: KeptAnswers | None = None,
    ) -> Execution:
        """Raises SandboxError for what may not be the program's fault."""
        execution = Execution()
        if kept is not None:
            kept.clear()  # of an earlier try
        with place as worker:
            candidate = Candidate(worker, self._suite.limits)
            with candidate:
                exchange = candidate.load(source, LOAD_SEED)
                if exchange.failure is None:
                    self._ask(source, questions, candidate, execution, kept)
                else:
                    self._fail_load(source, questions, exchange, execution)
            execution.peak_memory_mb = candidate.peak_memory_mb
            if execution.outcome in _SUSPECT:
                worker.retired = True
        return execution

    def _ask(
        self,
        source: str,
        questions: Sequence[Question],
        candidate: Candidate,
        execution: Execution,
        kept: KeptAnswers | None,
    ) -> None:
        for question in questions:
            instance = question.instance
            if not candidate.alive:
                execution.results.append(_not_run(instance.index))
                continue
            exchange, verdict = self._put(question, candidate, kept)
            fault = exchange.fault
            if fault is not None and fault.kind == "adapter" and execution.unprepared is None:
                execution.unprepared, execution.adapter_fault = question, fault
            if verdict is not None:
                outcome, cost, detail = verdict.outcome, verdict.cost, verdict.detail
                text = detail
            else:
                assert exchange.failure is not None  # else there were a verdict
                outcome, cost = exchange.failure, None
                detail, text = self._told(source, exchange, instance)
            execution.results.append(
                InstanceResult(
                    instance=instance.index,
                    outcome=outcome,
                    cost=cost,
                    detail=explain.short(_at(exchange, ": ", detail) if detail else ""),
                    cpu_s=exchange.cpu_s,
                    wall_s=exchange.wall_s,
                )
            )
            if outcome is not Outcome.OK and execution.outcome is Outcome.OK:
                execution.outcome = outcome
                execution.detail = text if exchange.failure else f"{self._place(exchange, instance)}: {text}"

    def _put(
        self, question: Question, candidate: Candidate, kept: KeptAnswers | None
    ) -> tuple[Exchange, Verdict | None]:
        """What came of one question, with the verdict unless it failed."""
        judge, instance = self._task.judge, question.instance
        if judge.converse is None:
            exchange = candidate.ask(question.request)
            if kept is not None and exchange.failure is None:
                kept.add(exchange.answer)  # before the judge, which may change it
            return exchange, None if exchange.failure else self._judge.judge(instance, exchange.answer)
        conversation = judge.converse(instance)
        # In other words the first item may differ, and `random` must not.
        seeded_by = None if instance is question.ordinary else judge.converse(question.ordinary)
        per_item_s = self._suite.limits.cpu_per_item_s
        exchange = _interview(candidate, conversation, seeded_by=seeded_by, per_item_s=per_item_s)
        if kept is not None and exchange.failure is None:
            kept.add(exchange.answer)
        return exchange, None if exchange.failure else conversation.verdict

    def _fail_load(self, source: str, questions: Sequence[Question], exchange: Exchange, execution: Execution) -> None:
        execution.results = not_run(questions)
        execution.outcome = Outcome.LOAD_ERROR if exchange.fault is not None else exchange.failure or Outcome.LOAD_ERROR
        if exchange.fault is None:
            execution.detail = f"{exchange.detail} while the program was loaded"
        elif exchange.detail:  # out of memory
            execution.detail = exchange.detail
        else:
            execution.detail = explain.traceback(exchange.fault, source.splitlines())

    def _told(self, source: str, exchange: Exchange, instance: Instance) -> tuple[str, str]:
        """(one line, full text) of a failure on one instance."""
        limits, place = self._suite.limits, self._place(exchange, instance)
        if exchange.failure is Outcome.OOM and exchange.fault is not None:
            text = f"over the limit of {limits.memory_mb} MB of memory"
            return text, f"{text} on {place}"
        if exchange.failure is Outcome.OUTPUT_LIMIT and exchange.fault is not None:
            text = f"{exchange.fault.message}, over the limit of {limits.answer_bytes} bytes"
            return text, f"{text}, on {place}"
        if exchange.fault is None:
            return exchange.detail, f"{exchange.detail} on {place}"
        return explain.summary(exchange.fault), f"{explain.traceback(exchange.fault, source.splitlines())}\non {place}"

    def _place(self, exchange: Exchange, instance: Instance) -> str:
        description = self._task.judge.describe(instance)
        where = f"instance {instance.index} of {len(self._suite.instances)}"
        return _at(exchange, " of ", f"{where} ({description})" if description else where)


def _at(exchange: Exchange, joint: str, text: str) -> str:
    """`text` with the item at which an instance that is asked item by item came to its end in front."""
    return text if exchange.item is None else f"item {exchange.item}{joint}{text}"


def _not_run(index: int) -> InstanceResult:
    return InstanceResult(instance=index, outcome=Outcome.NOT_RUN, cost=None)


def _interview(
    candidate: Candidate, conversation: Conversation, *, per_item_s: float | None, seeded_by: Conversation | None = None
) -> Exchange:
    """The exchange that the whole conversation comes to: its answer is the list of all answers, its `item` the last
    that was asked; `conversation.verdict` is there when it did not fail. `random` is seeded by the first item that is
    asked, or by that of `seeded_by`. Raises TaskError."""
    candidate.begin(per_item_s)
    exchange = Exchange(None)
    size = 0
    try:
        asked = conversation.after(None)
        while asked is not None:
            if conversation.answers:
                fields = protocol.next_fields(asked)
            else:
                fields = protocol.first_fields(seed_of(json.loads(_first(seeded_by) or asked)), asked)
            exchange = candidate.put(fields)
            if exchange.failure is not None:
                break
            size += exchange.size
            if size > MOST_ANSWERED:
                candidate.end()
                exchange.failure = Outcome.OUTPUT_LIMIT
                exchange.detail = f"the answers to one instance are over the limit of {MOST_ANSWERED} bytes"
                break
            asked = conversation.after(exchange.answer)
        else:
            if conversation.answers:
                exchange = candidate.put(protocol.END_FIELDS)
    finally:
        conversation.close()
    candidate.finish(exchange)
    exchange.item = conversation.item if conversation.asked else None
    exchange.answer = conversation.answers if exchange.failure is None else None
    return exchange


def _first(conversation: Conversation | None) -> bytes | None:
    if conversation is None:
        return None
    try:
        return conversation.after(None)
    finally:
        conversation.close()
