"""From a request to the text that a model is asked; the only importer of jinja2.

A prompt is a function of the request and the templates alone: no clock, no order of completion; what a clock measured
stands in it as the record has it. It is held below a budget of tokens by leaving out whole parts, least important first
(see `_parts`), never by cutting one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from traceback import walk_tb
from typing import Any

from evaluator.evaluation import Evaluation
from evaluator.feedback import feedback
from evaluator.objective import Direction
from evaluator.places import PROMPTS
from evaluator.sandbox import packages
from evaluator.task import Suite, Task
from evaluator.untrusted import block, one_line
from evolve.archive.ranking import rank_score
from evolve.core.completion import estimate_tokens
from evolve.core.errors import InputError, PromptTooLong
from evolve.core.program import END, START, PatchKind, Program, marked_regions
from evolve.lang.languages import Language, language_of_task
from evolve.proposal import Refusal, Request, ScoredProgram
from evolve.propose.differing import ShownOther, difference_of
from evolve.propose.showing import ShownFile, near_the_change, shown_files
from evolve.propose.verdicts import (
    InstanceParts,
    LimitUsed,
    first_and_last,
    first_sentence,
    instance_parts,
    limits_used,
    with_code,
)

KINDS = (PatchKind.DIFF, PatchKind.FULL, PatchKind.CROSS, PatchKind.FIX)

_PLAIN = (str, dict, list, tuple)
"""What a template may call the methods of."""
_MOST_FACTOR = 10**9
_MOST_POWER = 100

_CUT_OFF = frozenset({"length", "truncated", "oversize"})
"""Reasons of refusals for which an answer is without its end: it is not quoted whole."""

_ROOM = 0.6
_LESS_ROOM = 0.3
"""The part of a prompt that the files of the parent may take: at first, and if the prompt was too long."""

_Part = tuple[str, int]  # what may be left out, and the index of it among its like


@dataclass(frozen=True, slots=True, kw_only=True)
class _Other:
    """Another program as templates see it: what came with its patch, how it stands to the parent instance by instance,
    and what differs from that (`shown`)."""

    program: Program
    evaluation: Evaluation
    description: str
    instances: str
    shown: ShownOther


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What is made of a request once, however often its prompt is rendered."""

    others: tuple[_Other, ...]  # the worst first
    used: tuple[LimitUsed, ...]
    instances: InstanceParts | None
    files: tuple[ShownFile, ...]  # of a parent of several files
    feedback: str


class Prompts:
    """The templates for one task and suite. Immutable, and used from one thread or many."""

    def __init__(self, *, task: Task, suite: Suite, folder: Path | None, max_tokens: int) -> None:
        """`folder` overrides templates by name. Raises InputError naming the file (and line) of a bad template."""
        self._environment = _environment(folder)
        self._max_tokens = max_tokens
        self._task = task
        self._suite = suite
        self._language = language_of_task(task)
        self._constants = {
            "task": task,
            "language": self._language.name,
            "fence": self._language.fence,
            "start": self._language.comment(START),
            "end": self._language.comment(END),
            "suite": suite.name,
            "limits": suite.limits,
            "description": task.prompt_text,
            "packages": packages.names(task.packages),
            "metric": task.objective.metric,
            "rules": task.program_folder,
            "fixed": [] if task.program_folder is None else task.program_folder.frozen_paths(),
            "better": "larger" if task.objective.direction is Direction.MAXIMISE else "smaller",
        }
        for path in sorted(PROMPTS.glob("*.j2")):
            self._template(path.name)  # a mistake is reported before the run, not in the middle of it

    def render(self, request: Request) -> str:
        """The prompt for a request.

        Raises PromptTooLong when what must stay does not fit, InputError when a template is wrong.
        """
        parts, seen = _parts(request), self._seen(request)
        everything = self._render(request, seen, frozenset(parts))
        if estimate_tokens(everything) <= self._max_tokens:
            return everything
        kept: frozenset[_Part] = frozenset()
        prompt = self._render(request, seen, kept)
        needed = estimate_tokens(prompt)
        if needed > self._max_tokens:
            raise PromptTooLong(
                f"the prompt of generation {request.generation} needs about {needed} tokens for the task and its "
                f"parent (generation {request.parent.program.generation}) alone, and prompt_tokens allows "
                f"{self._max_tokens}; raise it"
            )
        for part in parts:
            wider = self._render(request, seen, kept | {part})
            if estimate_tokens(wider) <= self._max_tokens:
                kept, prompt = kept | {part}, wider
        return prompt

    # -- templates ----------------------------------------------------------------------------------------------

    def _seen(self, request: Request) -> _Seen:
        files, evaluation = request.parent.program.files, request.parent.evaluation
        crossing = request.kind is PatchKind.CROSS  # which takes from the others what it needs
        return _Seen(
            others=tuple(
                _Other(
                    program=other.program,
                    evaluation=other.evaluation,
                    description=first_sentence(other.program.origin.description),
                    instances=other.instances,
                    shown=difference_of(other.program.files, files, self._language, whole_parts=crossing),
                )
                for other in sorted(request.inspirations, key=_worst_first)
            ),
            used=limits_used(evaluation, self._task, self._suite.limits),
            instances=instance_parts(evaluation, self._task, self._suite),
            files=self._files(request),
            feedback=with_code(self._feedback(evaluation), files),
        )

    def _files(self, request: Request) -> tuple[ShownFile, ...]:
        """The files of a parent of several; fewer of them if the whole did not fit."""
        if self._task.program_folder is None:
            return ()
        room = int(self._max_tokens * (_LESS_ROOM if request.block_only else _ROOM))
        return shown_files(request.parent.program.files, room, near_the_change(request), request.generation)

    def _feedback(self, evaluation: Evaluation) -> str:
        """The feedback without what the harness itself says of a correct program: scores and instances say the same."""
        if not evaluation.correct or len(evaluation.results) != len(self._suite.instances):
            return evaluation.feedback
        return evaluation.feedback.removeprefix(feedback(self._task, self._suite, evaluation)).strip()

    def _render(self, request: Request, seen: _Seen, kept: frozenset[_Part]) -> str:
        guidance = request.guidance
        if guidance is not None and ("scratchpad", 0) not in kept:
            guidance = replace(guidance, scratchpad="")
        best = len(seen.others) - 1 if request.kind is PatchKind.CROSS else None
        others = [other for i, other in enumerate(seen.others) if ("inspiration", i) in kept or i == best]
        return self.fill(
            f"{request.kind.value}.j2",
            kind=request.kind.value,
            guidance=guidance,
            inspirations=others,
            parent=request.parent,
            block_only=request.block_only,
            marked=any(map(marked_regions, request.parent.program.files.values())),
            shown="" if seen.files else _shown(request.parent.program.files.only, request, self._language),
            files=seen.files,
            orders=_orders(request.parent.evaluation),
            used=seen.used,
            instances=seen.instances if ("instances", 0) in kept else None,
            feedback=seen.feedback if ("feedback", 0) in kept else None,
            returned=request.returned,
            tried=[proposal for i, proposal in enumerate(request.tried) if ("tried", i) in kept],
            in_flight=[proposal for i, proposal in enumerate(request.in_flight) if ("in_flight", i) in kept],
            direction=request.direction,
            refusals=_refusals(request.refusals, kept),
        )

    def fill(self, name: str, /, **variables: object) -> str:
        """The template `name` with `variables`, added to what every template knows. Raises InputError."""

        try:
            text: str = self._template(name).render(self._constants | variables)
        except Exception as wrong:  # noqa: BLE001 - boundary: a template may be somebody else's
            raise _wrong(name, wrong) from None
        return text.strip() + "\n"

    def _template(self, name: str) -> Any:
        import jinja2

        try:
            return self._environment.get_template(name)
        except (jinja2.TemplateError, UnicodeDecodeError) as wrong:
            raise _wrong(name, wrong) from None


def _environment(folder: Path | None) -> Any:
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Sandboxed(ImmutableSandboxedEnvironment):
        """A template reads values and fills in text. It calls nothing but Jinja's own and the methods of plain values:
        the sandbox alone would let it call any method that it can reach, such as one that writes a file."""

        intercepted_binops = frozenset({"*", "**", "%"})

        def is_safe_callable(self, obj: Any) -> bool:
            if obj in self.globals.values() or type(obj).__module__.startswith("jinja2."):
                return bool(super().is_safe_callable(obj))
            owner = getattr(obj, "__self__", None)
            plain = isinstance(owner, _PLAIN) or type(owner).__module__ == "jinja2.runtime"  # `loop` among them
            return plain and bool(super().is_safe_callable(obj))

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if not all(isinstance(value, int | float) and abs(value) < _MOST_FACTOR for value in (left, right)):
                raise jinja2.exceptions.SecurityError(f"`{operator}` is for numbers below {_MOST_FACTOR} here")
            if operator == "**" and right > _MOST_POWER:
                raise jinja2.exceptions.SecurityError(f"`**` is for powers up to {_MOST_POWER} here")
            return super().call_binop(context, operator, left, right)

    folders = [PROMPTS]
    if folder is not None:
        _check_folder(folder)
        folders.insert(0, folder)
    environment = Sandboxed(
        loader=jinja2.FileSystemLoader(folders),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # the prompt is plain text; untrusted texts go through the filters below
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    del environment.globals["lipsum"]  # text without end
    environment.filters.update(number=_number, fenced=_fenced, line=one_line, quoted=_quoted)
    return environment


def _wrong(name: str, wrong: Exception) -> InputError:
    """An error in the template `name`, or in one that it uses, with the file and line as far as they are known."""
    import jinja2

    if isinstance(wrong, jinja2.TemplateNotFound):
        return InputError(f"prompt template {name}: it uses the template {wrong.name!r}, which does not exist")
    if isinstance(wrong, jinja2.TemplateSyntaxError):
        return InputError(f"{wrong.filename or wrong.name or name}, line {wrong.lineno}: {wrong.message}")
    message = str(wrong) if isinstance(wrong, jinja2.TemplateError | TypeError) else f"{type(wrong).__name__}: {wrong}"
    where = f"prompt template {name}"
    # Jinja gives the frames of a template its own file name and lines.
    for frame, line in walk_tb(wrong.__traceback__):
        if frame.f_code.co_filename.endswith(".j2"):
            where = f"{frame.f_code.co_filename}, line {line}"
    return InputError(f"{where}: {one_line(message, 500)}")


def _check_folder(folder: Path) -> None:
    templates = sorted(str(path.relative_to(PROMPTS)) for path in PROMPTS.rglob("*.j2"))
    if not folder.is_dir():
        raise InputError(f"prompts_dir {folder}: there is no such folder")
    if not any((folder / name).is_file() for name in templates):
        raise InputError(f"prompts_dir {folder}: overrides nothing; it holds none of {', '.join(templates)}")


# -- what may be left out --------------------------------------------------------------------------------------------


def _parts(request: Request) -> list[_Part]:
    """What may be left out of a prompt, most important first."""
    refusals = len(request.refusals)
    return [
        *[("answer", refusals - 1)][:refusals],
        ("feedback", 0),
        ("instances", 0),
        ("scratchpad", 0),
        *[("in_flight", i) for i in range(len(request.in_flight))],
        *[("tried", i) for i in range(len(request.tried))],
        *[("inspiration", i) for i in reversed(range(len(request.inspirations)))],
        *[("answer", i) for i in reversed(range(refusals - 1))],
    ]


def _shown(source: str, request: Request, language: Language) -> str:
    """What is shown of the parent: all of it, or the parts that may change, each between its markers."""
    blocks = marked_regions(source)
    if not request.block_only or not blocks:
        return source
    start, end = language.comment(START), language.comment(END)
    return "\n\n".join(f"{start}\n{region.text.rstrip()}\n{end}" for region in blocks)


def _refusals(refusals: Sequence[Refusal], kept: frozenset[_Part]) -> list[dict[str, object]]:
    """The refused answers. Of those with one and the same message only the last is quoted."""
    last = {refusal.message: i for i, refusal in enumerate(refusals)}
    shown: list[dict[str, object]] = []
    for message, i in sorted(last.items(), key=lambda item: item[1]):
        *earlier, number = [str(n) for n, refusal in enumerate(refusals, 1) if refusal.message == message]
        title = f"Answers {', '.join(earlier)} and {number}" if earlier else f"Answer {number}"
        answer = _answer(refusals[i]) if ("answer", i) in kept else None
        shown.append(
            {"title": f"{title} of {len(refusals)}", "several": bool(earlier), "answer": answer, "message": message}
        )
    return shown


def _answer(refusal: Refusal) -> str:
    """A refused answer as it is quoted: of one that is without its end, the first and last lines."""
    return first_and_last(refusal.answer) if refusal.reason in _CUT_OFF else refusal.answer


def _worst_first(program: ScoredProgram) -> tuple[bool, float, int]:
    """By score; among equals the later generation first, so that the earliest of the best stands last."""
    return program.evaluation.correct, rank_score(program.evaluation), -program.program.generation


def _orders(evaluation: Evaluation) -> Mapping[str, object] | None:
    """What a program scores in other orders, as texts, and what the metric is called that they are of."""
    if evaluation.confirmed is None:
        return None
    scale = evaluation.objective.scale(evaluation.combined_score, evaluation.value)
    low, high, median = evaluation.confirmed.shown(scale)
    return {"n": evaluation.confirmed.n, "metric": scale.metric, "low": low, "high": high, "median": median}


# -- filters ---------------------------------------------------------------------------------------------------------


def _number(value: float) -> str:
    """A number with at most ten digits."""
    return f"{value:.10g}"


def _fenced(code: str, language: str) -> str:
    """Code between fences that are longer than any run of backticks in it."""
    longest = run = 0
    for character in code:
        run = run + 1 if character == "`" else 0
        longest = max(longest, run)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{code.rstrip()}\n{fence}"


def _quoted(text: str) -> str:
    """Untrusted text with a bar before every line, and without characters that hide or move text."""
    return "\n".join(f"| {line}".rstrip() for line in block(text.strip("\n")).split("\n"))
