"""Running a program on instances, in processes of a worker pool: what it answered, judged, and how it ended.

`run` asks one process for everything, in order. A program is blamed only for its own faults:

- Time spent waiting for a core counts against no limit (`evaluator.sandbox.supervisor`).
- Where the harness failed, or the kernel killed the program's process (memory is short), `evaluator.blame` decides: the
  machine's fault is a HarnessError, the program's is a crash.
- Where the task's adapter failed, the control gets the same question. If that fails too, the adapter is at fault:
  TaskError.

A judge that asks item by item talks with the candidate in lock-step: the next item is made and sent only after the last
answer. Each request has a nonce, drawn when it is sent, so that no reply can be written before it. Only that reply may
be in the channel. A last request ends the conversation, and reveals anything that was written beyond the replies.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from evaluator.blame import TakesItsWorkerDown, run_with_retries
from evaluator.certificate import KeptAnswers
from evaluator.conversation import Conversation
from evaluator.errors import TaskError
from evaluator.evaluation import InstanceResult, Outcome, Verdict
from evaluator.feedback import describe_fault, format_traceback, shorten
from evaluator.recording import PlayedBack, ProcessRecording, Recorder, Recording, RecordingMismatch
from evaluator.sandbox import protocol
from evaluator.sandbox.exchange import AnsweringProcess, Exchange
from evaluator.sandbox.pool import WorkerPool
from evaluator.sandbox.supervisor import Candidate
from evaluator.sandbox.worker import Worker
from evaluator.slow_judge import TimedJudge
from evaluator.task import Instance, Suite, Task
from evaluator.untrusted import one_line

SOURCE_LIMIT: Final = 1 << 20
"""Characters of the longest source that is run."""
MOST_ANSWERED: Final = 16 * 1024 * 1024
"""Bytes of all answers to one instance, which the harness keeps in memory."""
_SUSPECT: Final = frozenset({Outcome.CRASH, Outcome.FORBIDDEN, Outcome.PROTOCOL})
"""Outcomes after which a worker is replaced, as a precaution."""


def seed_of(shown: Any) -> int:
    """The seed of `random` and `numpy.random`: a function of what the program is shown, so that no draw reveals more.

    A seed made of the suite and the place in it would name the instance. A program could look up its answer, recognise
    the held-out suite, and know later items of a conversation. The order of the data and the place of a name do not
    count: strict re-evaluation changes both, and no draw may show that."""
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
"""The seed until the first instance, the same for all suites."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """An instance as it is judged, and the request that puts it to a program. `ordinary` is the instance of the suite,
    which seeds `random`."""

    instance: Instance
    ordinary: Instance
    request: bytes  # for the whole instance; not used by a judge that asks item by item


@dataclass(slots=True, kw_only=True)
class Execution:
    """One run of a program, before it is scored: a result per question, in their order."""

    results: list[InstanceResult] = field(default_factory=list)
    outcome: Outcome = Outcome.OK
    detail: str = ""
    peak_memory_mb: float = 0.0
    unprepared: Question | None = None  # the first for which the task's adapter failed
    adapter_fault: protocol.Fault | None = None  # the adapter's exception there
    recording: ProcessRecording | None = None  # where another machine judges


def question(instance: Instance, data: Any = None) -> Question:
    """The question for an instance; `data` is another wording of it, with the same seed."""
    worded = instance if data is None else replace(instance, data=data)
    request = protocol.instance_fields(seed_of(instance.data), worded.data)
    return Question(instance=worded, ordinary=instance, request=request)


def not_loaded(outcome: Outcome, detail: str, questions: Sequence[Question]) -> Execution:
    """The execution of a program that got none of its questions."""
    results = [_not_run(question.instance.index) for question in questions]
    return Execution(outcome=outcome, detail=detail, results=results)


class Runner:
    """Runs programs for one task and suite; used by several threads at once. `control` is the source of a program that
    is known to run: if it fails too, the fault is not the program's."""

    def __init__(self, task: Task, suite: Suite, *, control: str) -> None:
        self._task = task
        self._suite = suite
        self._control = control
        self._judge = TimedJudge(task, suite)

    def run(
        self, source: str, questions: Sequence[Question], pool: WorkerPool, *, kept: KeptAnswers | None = None
    ) -> Execution:
        """Put the questions to a process of its own, in their order; `kept` gets the answers. Raises TaskError,
        HarnessError and EvaluationCancelled, which are no verdict on the program."""
        execution = self._run_with_retries(source, questions, pool, kept)
        if execution.unprepared is not None:
            self._check_adapter(execution.unprepared, pool)
        return execution

    def record(self, source: str, questions: Sequence[Question], pool: WorkerPool) -> Recording:
        """A recording of `run`, without the verdicts of a judge. Raises as `run`."""
        execution = self._run_with_retries(source, questions, pool, recorded=True)
        if execution.recording is None:
            return Recording(takes_worker_down=execution.detail)
        return Recording(process=execution.recording)

    def play(self, source: str, questions: Sequence[Question], recording: Recording, pool: WorkerPool) -> Execution:
        """What `run` returned where the recording was made; the control runs in `pool`, if need be. Raises
        RecordingMismatch, and as `run`."""
        if recording.takes_worker_down is not None:
            return not_loaded(Outcome.CRASH, recording.takes_worker_down, questions)
        if recording.process is None:
            raise RecordingMismatch("its report is of another kind of task")
        process = PlayedBack(recording.process, self._suite.limits)
        execution = Execution(peak_memory_mb=recording.process.peak_memory_mb)
        self._execute(source, questions, process, execution, None)
        process.check_end()
        if execution.unprepared is not None:
            self._check_adapter(execution.unprepared, pool)
        return execution

    def _run_with_retries(
        self,
        source: str,
        questions: Sequence[Question],
        pool: WorkerPool,
        kept: KeptAnswers | None = None,
        *,
        recorded: bool = False,
    ) -> Execution:
        try:
            return run_with_retries(
                lambda: self._run(source, questions, pool.worker(), kept, recorded=recorded),
                lambda: self._run(source, questions, pool.alone(), kept, recorded=recorded),
                lambda: self._run(self._control, questions, pool.alone()),
                pool.cancellation,
            )
        except TakesItsWorkerDown as why:
            return not_loaded(Outcome.CRASH, str(why), questions)

    def _check_adapter(self, question: Question, pool: WorkerPool) -> None:
        """Raises TaskError when the adapter fails for the control too: a candidate could have broken the adapter, which
        shares its process."""
        fault = self._run_with_retries(self._control, [question], pool).adapter_fault
        if fault is None:
            return
        error = one_line(fault.text, 300)
        where = f" line {fault.lines[-1][0]}, {fault.lines[-1][1]}()" if fault.lines else ", prepare()"
        raise TaskError(f"{self._task.adapter_file}{where}: raised {error} on instance {question.instance.index}")

    def _run(
        self,
        source: str,
        questions: Sequence[Question],
        place: AbstractContextManager[Worker],
        kept: KeptAnswers | None = None,
        *,
        recorded: bool = False,
    ) -> Execution:
        """One try. Raises SandboxError for a failure that may not be the program's fault."""
        execution = Execution()
        if kept is not None:
            kept.clear()  # of an earlier try
        with place as worker:
            candidate = Candidate(worker, self._suite.limits)
            recorder = Recorder(candidate, self._suite.limits) if recorded else None
            with candidate:
                self._execute(source, questions, recorder or candidate, execution, kept)
            execution.peak_memory_mb = candidate.peak_memory_mb
            execution.recording = None if recorder is None else recorder.recording()
            if execution.outcome in _SUSPECT:
                worker.retired = True
        return execution

    def _execute(
        self,
        source: str,
        questions: Sequence[Question],
        candidate: AnsweringProcess,
        execution: Execution,
        kept: KeptAnswers | None,
    ) -> None:
        exchange = candidate.load(source, LOAD_SEED)
        if exchange.failure is None:
            self._ask(source, questions, candidate, execution, kept)
        else:
            self._fail_load(source, questions, exchange, execution)

    def _ask(
        self,
        source: str,
        questions: Sequence[Question],
        candidate: AnsweringProcess,
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
                assert exchange.failure is not None  # otherwise there is a verdict
                outcome, cost = exchange.failure, None
                detail, text = self._describe_failure(source, exchange, instance)
            execution.results.append(
                InstanceResult(
                    instance=instance.index,
                    outcome=outcome,
                    cost=cost,
                    detail=shorten(_at(exchange, ": ", detail) if detail else ""),
                    cpu_s=exchange.cpu_s,
                    wall_s=exchange.wall_s,
                )
            )
            if outcome is not Outcome.OK and execution.outcome is Outcome.OK:
                execution.outcome = outcome
                execution.detail = text if exchange.failure else f"{self._place(exchange, instance)}: {text}"

    def _put(
        self, question: Question, candidate: AnsweringProcess, kept: KeptAnswers | None
    ) -> tuple[Exchange, Verdict | None]:
        """The exchange of one question, with the verdict unless it failed."""
        judge, instance = self._task.judge, question.instance
        conversation = None
        if judge.converse is None:
            exchange = candidate.ask(question.request)
        else:
            conversation = judge.converse(instance)
            # With other names the first item may differ, and the seed of `random` must not.
            seeded_by = None if instance is question.ordinary else judge.converse(question.ordinary)
            exchange = _interview(candidate, conversation, seeded_by, self._suite.limits.cpu_per_item_s)
        if exchange.failure is not None:
            return exchange, None
        if kept is not None:
            kept.add(exchange.answer)  # before the judge, which may change it
        if conversation is not None:
            return exchange, conversation.verdict
        if not candidate.judged_here:
            return exchange, Verdict(outcome=Outcome.OK)
        return exchange, self._judge.judge(instance, exchange.answer)

    def _fail_load(self, source: str, questions: Sequence[Question], exchange: Exchange, execution: Execution) -> None:
        execution.results = [_not_run(question.instance.index) for question in questions]
        execution.outcome = Outcome.LOAD_ERROR if exchange.fault is not None else exchange.failure or Outcome.LOAD_ERROR
        if exchange.fault is None:
            execution.detail = f"{exchange.detail} while the program was loaded"
        elif exchange.detail:  # out of memory
            execution.detail = exchange.detail
        else:
            execution.detail = format_traceback(exchange.fault, source.splitlines())

    def _describe_failure(self, source: str, exchange: Exchange, instance: Instance) -> tuple[str, str]:
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
        return describe_fault(exchange.fault), f"{format_traceback(exchange.fault, source.splitlines())}\non {place}"

    def _place(self, exchange: Exchange, instance: Instance) -> str:
        description = self._task.judge.describe(instance)
        where = f"instance {instance.index} of {len(self._suite.instances)}"
        return _at(exchange, " of ", f"{where} ({description})" if description else where)


def _at(exchange: Exchange, joint: str, text: str) -> str:
    """`text` behind the last item of an instance that is asked item by item."""
    return text if exchange.item is None else f"item {exchange.item}{joint}{text}"


def _not_run(index: int) -> InstanceResult:
    return InstanceResult(instance=index, outcome=Outcome.NOT_RUN, cost=None)


def _interview(
    candidate: AnsweringProcess, conversation: Conversation, seeded_by: Conversation | None, per_item_s: float | None
) -> Exchange:
    """One exchange for the whole conversation: its answer is the list of all answers, its `item` the last one asked;
    `conversation.verdict` is set unless it failed. The first item of `seeded_by`, or of the conversation itself, seeds
    `random`. Raises TaskError."""
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
