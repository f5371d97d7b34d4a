"""Is a task sound? All its parts are loaded and used: the initial program is scored, the judge gets wrong answers of
every type, and changed programs get other scores."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from evaluator.check import Check, Finding
from evaluator.conversation import Conversation
from evaluator.errors import EvaluatorError, TaskError
from evaluator.evaluation import Evaluation, Outcome, Verdict
from evaluator.objective import Direction
from evaluator.opening import OpenedEvaluator, open_evaluator
from evaluator.pairs import noise_of
from evaluator.program_files import Files
from evaluator.repository.evaluator import RepositoryEvaluator
from evaluator.repository.proof import unused_files
from evaluator.task import Converse, Instance, Judge, Suite, Task
from evaluator.task_files import load_task
from evaluator.task_yaml import FILE
from evaluator.untrusted import block, one_line
from evolve.core.config import Config
from evolve.core.errors import EvolveError, InputError
from evolve.core.program import Origin, PatchKind, Program
from evolve.lang.languages import language_of_task
from evolve.opening import initial_files
from evolve.proposal import Request, ScoredProgram
from evolve.propose.offline.ingredients import MAX_LINES
from evolve.propose.offline.proposer import OfflineProposer
from evolve.review.scores import named_value, sentence
from evolve.review.texts import counted

_VARIANTS: Final = 12
_MOST_VARIANTS: Final = 40
"""The number of programs scored to see whether the score changes, and the most while it does not."""
_FAR: Final = 8
"""The number of successive changes before it starts from the initial program again."""
_ASKED: Final = 3
"""The number of instances with wrong answers to the judge."""
_NO_ANSWER: tuple[Any, ...] = (None, math.nan, math.inf, "", {}, True, "nonsense", {"nonsense": 1}, [None], [[[]]])
"""Values that are no answer to an instance of numbers and lists."""
_NOT_IMPORTABLE: Final = "is not available in the sandbox"  # so says `evaluator.sandbox.runner`
_PARTS: tuple[Any, ...] = (None, math.nan, -1, 10**30, "x", [], True, {})
_NEVER: Final = 2  # the first ones are no answer to any instance


class _Listening:
    """A judge that keeps its answers."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self.renamed, self.permuted, self.draw_instance = judge.renamed, judge.permuted, judge.draw_instance
        self.summarise, self.draw, self.describe = judge.summarise, judge.draw, judge.describe
        self.converse: Converse | None = None if judge.converse is None else self._converse
        self.answers: dict[int, object] = {}

    def _converse(self, instance: Instance) -> Conversation:
        assert self._judge.converse is not None  # else it is not called
        conversation = self._judge.converse(instance)
        self.answers.setdefault(instance.index, conversation.answers)
        return conversation

    def judge(self, instance: Instance, answer: object) -> Verdict:
        """The judge's verdict."""
        self.answers.setdefault(instance.index, answer)
        return self._judge.judge(instance, answer)


def examine_task(name: str) -> list[Check]:
    """Every check of a task, in the order of repair."""
    try:
        task = load_task(name)
        suites = [task.suite(suite) for suite in task.suites]
        listening = _Listening(task.judge)
        program = initial_files(Config(), task)
        suite = task.suite()
        called = _called(task)
        sizes = [f"suite {each.name} with {counted(len(each.instances), 'instance')}" for each in suites]
        checks = [Check("files", Finding.OK, ", ".join((task.name, called, *sizes))), *_check_declared(task, suite)]
        with open_evaluator(replace(task, judge=listening), suite, workers=1) as evaluator:
            evaluation = evaluator.examine(program, evaluator.evaluate(program))
            checks.append(_check_initial(task, evaluation))
            if isinstance(evaluator, RepositoryEvaluator):
                return [*checks, *(_check_repository(evaluator) if evaluation.correct else ())]
            checks += [] if task.self_judged else list(_check_judge(task, suite, listening.answers))
            if evaluation.correct and not task.uses_clock:  # measured times always differ
                checks.append(_check_sensitivity(task, evaluator, program, evaluation))
    except (EvaluatorError, InputError) as cause:
        wrong = isinstance(cause, TaskError | InputError)
        fix = "fix the problem described above" if wrong else "do what the message says"
        return [Check("task", Finding.BROKEN, str(cause), fix)]
    return checks


def _called(task: Task) -> str:
    """How programs of a task are run."""
    if task.repository is not None:
        return f"repository at {task.repository.commit[:12]}"
    return f"entry point {task.entry_point}()" if task.script is None else f"script {task.script.path.name}"


def _check_repository(evaluator: RepositoryEvaluator) -> Iterator[Check]:
    """Whether each file of a program is what runs, and the noise of the unchanged code, measured now."""
    unused = list(unused_files(evaluator.commands))
    files = counted(len(evaluator.commands.unchanged), "file")
    for path, instead in unused:
        used = "" if instead is None else f"; {instead} is used instead"
        detail = f"{path}: tests and benchmark end well with a broken file in its place{used}"
        yield _broken("files that run", detail, "let the commands use the files of the repository, or narrow `edit`")
    if not unused:
        yield Check("files that run", Finding.OK, f"tests or benchmark fail without each of the {files}")
    noise = noise_of(evaluator.measured_noise())
    measured = f"median {noise.median:.4g} of {noise.runs} runs, middle half within {100 * noise.spread:.1f} %"
    yield Check("noise", Finding.OK, f"{noise.sentence()} ({measured})")


def _broken(name: str, detail: str, fix: str) -> Check:
    return Check(name, Finding.BROKEN, block(detail, 2000), fix)


def _missing(name: str, detail: str, fix: str) -> Check:
    return Check(name, Finding.ABSENT, detail, fix, needed=False)


def _check_declared(task: Task, suite: Suite) -> Iterator[Check]:
    """The declarations that the task lacks, and their defaults."""
    path, objective = task.folder / FILE, task.objective
    text = path.read_text(encoding="utf-8-sig") if path.is_file() else ""
    if "objective:" in text or task.uses_clock:
        yield Check("objective", Finding.OK, f"{objective.direction.value} {objective.metric}")
    else:
        fix = f"write in {path}: `objective: {{metric: NAME, direction: minimise}}` (or maximise)"
        yield _missing("objective", f"not stated, so `{objective.metric}` is maximised", fix)
    if not task.prompt_text:
        yield _missing(
            "description", "none: a model would not know the task", f"write `description:` in {path}, or prompt.md"
        )
    if task.repository is not None:
        repository = task.repository
        if repository.tests is None:
            fix = f"name a pattern that finds it, in {path}: `repository: {{test_count: REGEX}}`"
            yield _missing("test count", "not known: the exit status of the tests alone is the gate", fix)
        if repository.self_judged:
            fix = "measure time or memory from outside: `measure: cpu` (or wall, memory)"
            yield _missing("measure", "a printed number: scores are self-judged", fix)
        return
    if task.self_judged:
        fix = "write a judge.py in the task's folder: it scores answers outside the program's process"
        yield _missing("judge", "none: scores are self-judged, since a program shares the scoring process", fix)
        return
    if not task.uses_clock and all(instance.bound is None for instance in suite.instances):
        bound = "lower_bound" if objective.per_instance is Direction.MINIMISE else "upper_bound"
        fix = (
            f'if you can prove one, write a file `{{"bounds": [{{"{bound}": 0}}, ...]}}` with an entry for each '
            f"instance, and name it in {path}: `suites: {{{suite.name}: {{bounds: FILE}}}}`"
        )
        yield _missing("bounds", f"suite {suite.name} has none: the best possible score is unknown", fix)
    if suite.held_out is None:
        fix = "name a suite of other instances as `held_out`"
        yield _missing("held-out suite", "none: overfitting would go unnoticed", fix)


def _check_initial(task: Task, evaluation: Evaluation) -> Check:
    if evaluation.correct:
        return Check("initial program", Finding.OK, sentence(evaluation))
    why = evaluation.quarantine or f"{evaluation.outcome.value}: {evaluation.detail}"
    fix = "a run needs a correct initial program: repair it"
    if evaluation.outcome is Outcome.LOAD_ERROR and _NOT_IMPORTABLE in why:
        fix += f", or list the package in {task.folder / FILE}: `packages: [NAME]`"
    return _broken("initial program", f"{task.initial}: {why}", fix)


def _check_judge(task: Task, suite: Suite, answers: dict[int, object]) -> Iterator[Check]:
    """How the judge handles right and wrong answers, and a program that fails."""
    judge, path = task.judge, task.folder / "judge.py"
    asked = [instance for instance in suite.instances if instance.index in answers][:_ASKED]
    for instance in asked:
        first, again = (judge.judge(instance, answers[instance.index]) for _ in range(2))
        if first != again:
            detail = (
                f"{path}: judge() gives {first.cost} and then {again.cost} for one answer to instance {instance.index}"
            )
            yield _broken("judge", detail, "a judge must use no clock, no unseeded random numbers and no state")
            return
    raised, taken, tried = [], [], 0
    for instance in asked or suite.instances[:1]:
        for number, wrong in enumerate(wrong_answers(answers.get(instance.index))):
            tried += 1
            try:
                verdict = judge.judge(instance, wrong)
            except TaskError as cause:
                raised.append(f"{cause} (the answer was {one_line(repr(wrong), 80)})")
                continue
            if verdict.outcome is Outcome.OK and number < len(_NO_ANSWER):
                taken.append((number < _NEVER, one_line(repr(wrong), 60)))
    if raised:
        yield _broken(
            "wrong answers", raised[0], "a judge must handle any JSON value: raise InvalidAnswer for a wrong one"
        )
    elif any(never for never, _ in taken):
        examples = ", ".join(dict.fromkeys(text for never, text in taken if never))
        yield _broken("wrong answers", f"{path}: judge() accepts {examples} as an answer", "raise InvalidAnswer for it")
    elif taken:
        examples = ", ".join(dict.fromkeys(text for _, text in taken))
        yield _missing(
            "wrong answers", f"{path}: judge() accepts {examples} as an answer", "check that this is intended"
        )
    else:
        yield Check("wrong answers", Finding.OK, f"{tried} malformed answers tried; the judge handled all of them")
    failed = [Verdict(outcome=Outcome.EXCEPTION, detail="it raised") for _ in suite.instances]
    judge.summarise(failed, suite.instances)
    for instance in asked[:1]:
        judge.describe(instance)
        judge.draw(instance, answers[instance.index])


def wrong_answers(right: object) -> list[Any]:
    """Wrong answers of every type: first values that are never an answer, then faulty variants of `right`."""
    answers: list[Any] = [*_NO_ANSWER, [], -1, 0, 10**30, 1e300, -1e-300, [[0, 10**9]]]
    if isinstance(right, list) and right:
        answers += [right + right, right[:-1], [*right, right[0]], [right[0]] * len(right), right[::-1]]
        answers += [[wrong, *right[1:]] for wrong in _PARTS]
        answers += [[inner, *right[1:]] for inner in (wrong_answers(right[0]) if isinstance(right[0], list) else [])]
    elif isinstance(right, dict) and right:
        key = next(iter(right))
        answers += [{**right, key: wrong} for wrong in _PARTS]
        answers += [{name: value for name, value in right.items() if name != key}, {**right, "foreign": 1}]
    elif isinstance(right, int | float):
        answers += [-right, str(right), [right], right + 0.5]
    return answers


def _check_sensitivity(task: Task, evaluator: OpenedEvaluator, program: Files, evaluation: Evaluation) -> Check:
    """Whether the score changes with the program: the offline proposer changes the initial one step by step."""
    try:
        language, rules = language_of_task(task), task.program_folder
        proposer = OfflineProposer(task.ingredients, entry_point=task.entry_point, language=language, rules=rules)
    except EvolveError as cause:
        fix = f"an ingredient is an operator of at most {MAX_LINES} lines below comments `# role:`, `# why:`, `# wire:`"
        return _broken("ingredients", str(cause), fix)
    scores, correct, parent = {evaluation.combined_score}, 0, program
    for number in range(1, _MOST_VARIANTS + 1):
        if number > _VARIANTS and len(scores) > 1:
            break
        path, edit = proposer.edit_of_file(_request(number, parent, evaluation))
        if edit is None:
            break
        edited = parent.changed({path: edit.source})
        variant = evaluator.evaluate(edited)
        correct += variant.correct
        if variant.correct:
            scores.add(variant.combined_score)
            parent = edited if number % _FAR else program
    value = named_value(evaluation.objective, evaluation.value)
    if len(scores) > 1:
        detail = f"sensitive: {correct} small variations of {value} gave {len(scores) - 1} other scores"
        return Check("score", Finding.OK, detail)
    fix = "without a model, add constants or `ingredients`; the judge must give different programs different scores"
    return _missing("score", f"not sensitive: {correct} programs made offline also score {value}", fix)


def _request(number: int, files: Files, evaluation: Evaluation) -> Request:
    origin = Origin(kind=PatchKind.INITIAL, model="", patch_name="", description="")
    program = Program(commit="", generation=0, files=files, parents=(), island=0, origin=origin)
    parent = ScoredProgram(program=program, evaluation=evaluation)
    return Request(seed=0, generation=number, attempt=0, kind=PatchKind.DIFF, parent=parent, inspirations=())
