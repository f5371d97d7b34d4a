"""A model that reads its answers from a YAML file: for trying out tasks, prompts and whole runs without a server.

    answers:                      # one entry per generation, from generation 1 on
      - |                         # generation 1, however often it is asked
        <NAME> first </NAME> ...
      -                           # generation 2: a list, one entry per attempt; the last one stays
        - an answer that is refused
        - the mended answer
      - {text: cut off, finish_reason: length, tokens_in: 900, tokens_out: 50, cost_usd: 0.01}
      - {error: server_error}     # generation 4: the call fails, as after the last retry
    meta:                         # one entry per meta document, from the first on
      - summary: |                # a step's name; the same for every program of the document, or
          ...
        summary/3: |              # for the program of generation 3 alone
          ...
        scratchpad: |
          ...
        recommendations: {error: timeout}

Which answer is given depends on the request alone, never on the order of the calls.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from evaluator.yaml_file import nearest, read_mapping
from evolve.completion import (
    FAILURE_REASONS,
    FINISH_REASONS,
    CallEvent,
    CallFailed,
    Completion,
    FailureReason,
    FinishReason,
    Message,
    Observer,
    estimate_tokens,
)
from evolve.errors import InputError
from evolve.usage import Usage

_SECTIONS = ("answers", "meta")
_FIELDS = ("text", "finish_reason", "tokens_in", "tokens_out", "cost_usd", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scripted:
    """One entry of the file. Tokens None are estimated."""

    text: str
    finish_reason: FinishReason
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float
    error: FailureReason | None


class ScriptedLLM:
    """The LLM in a file (see the module). `name` is `scripted` whatever the file: no path is part of a record."""

    name = "scripted"

    def __init__(self, file: Path) -> None:
        """Read and check `file` whole. Raises InputError naming the file, the entry and what is wrong."""
        self._file = file
        document = read_mapping(file, error=InputError)
        for key in document:
            if key not in _SECTIONS:
                raise InputError(f"{file}: unknown key {key!r}{nearest(key, _SECTIONS)}")
        if not document:
            raise InputError(f"{file}: holds no answers (keys: {', '.join(_SECTIONS)})")
        self._answers = [
            self._attempts(entry, f"answers, entry {number}")
            for number, entry in enumerate(self._list(document, "answers"), 1)
        ]
        self._meta = [
            self._steps(entry, f"meta, entry {number}") for number, entry in enumerate(self._list(document, "meta"), 1)
        ]

    def estimate_usd(self, tokens_in: int) -> float:
        """Nothing: what an answer costs stands in the file."""
        return 0.0

    def complete(self, messages: Sequence[Message], *, key: str, observe: Observer) -> Completion:
        """The answer that the file has for `key`. Raises CallFailed, `script_ended` when it has none."""
        observe(CallEvent(call=0, phase="calling", status="calling", model=self.name))
        scripted = self._find(key)
        if scripted is None:
            held = f"{len(self._answers)} answers and {len(self._meta)} meta documents"
            raise self._failed("script_ended", f"no answer for {key} (the file has {held})", observe)
        if scripted.error is not None:
            raise self._failed(scripted.error, f"the answer for {key} is this error", observe)
        asked = sum(estimate_tokens(message.content) for message in messages)
        usage = Usage(
            tokens_in=asked if scripted.tokens_in is None else scripted.tokens_in,
            tokens_out=estimate_tokens(scripted.text) if scripted.tokens_out is None else scripted.tokens_out,
            cost_usd=scripted.cost_usd,
            estimated=scripted.tokens_in is None or scripted.tokens_out is None,
        )
        observe(CallEvent(call=0, phase="answered", status=scripted.finish_reason, model=self.name, usage=usage))
        return Completion(text=scripted.text, finish_reason=scripted.finish_reason, usage=usage)

    def _failed(self, reason: FailureReason, message: str, observe: Observer) -> CallFailed:
        message = f"{self._file.name}: {message}"  # recorded: where the file lies is this machine's affair
        observe(CallEvent(call=0, phase="failed", status=reason, model=self.name, message=message))
        return CallFailed(reason, message)

    def _find(self, key: str) -> _Scripted | None:
        subject, number, step = key.split("/", 2)
        index = int(number.partition("_")[0]) - 1
        if subject == "patch":
            if not 0 <= index < len(self._answers):
                return None
            attempts = self._answers[index]
            return attempts[min(int(step), len(attempts) - 1)]
        if not 0 <= index < len(self._meta):
            return None
        steps = self._meta[index]
        return steps.get(step) or steps.get(step.partition("/")[0])

    # -- reading the file ---------------------------------------------------------------------------------------

    def _list(self, document: Mapping[str, Any], key: str) -> list[Any]:
        value = document.get(key, [])
        if not isinstance(value, list):
            raise InputError(f"{self._file}: {key} must be a list, not {type(value).__name__}")
        return value

    def _attempts(self, entry: object, where: str) -> tuple[_Scripted, ...]:
        if not isinstance(entry, list):
            return (self._scripted(entry, where),)
        if not entry:
            raise InputError(f"{self._file}: {where} is an empty list")
        return tuple(self._scripted(one, f"{where}, attempt {number}") for number, one in enumerate(entry))

    def _steps(self, entry: object, where: str) -> dict[str, _Scripted]:
        if not isinstance(entry, dict) or not entry:
            raise InputError(f"{self._file}: {where} must map steps (scratchpad, ...) to answers")
        return {str(step): self._scripted(value, f"{where}, step {step!r}") for step, value in entry.items()}

    def _scripted(self, entry: object, where: str) -> _Scripted:
        if isinstance(entry, str):
            entry = {"text": entry}
        if not isinstance(entry, dict):
            raise InputError(f"{self._file}: {where} must be text or a mapping, not {type(entry).__name__}")
        for key in entry:
            if key not in _FIELDS:
                raise InputError(f"{self._file}: {where} has the unknown key {key!r}{nearest(str(key), _FIELDS)}")
        if ("text" in entry) == ("error" in entry):
            raise InputError(f"{self._file}: {where} must have either `text` or `error`")
        text = entry.get("text", "")
        if not isinstance(text, str):
            raise InputError(f"{self._file}: {where}: text must be text, not {type(text).__name__} (quote it)")
        return _Scripted(
            text=text,
            finish_reason=cast(FinishReason, self._one_of(entry, "finish_reason", FINISH_REASONS, where) or "stop"),
            tokens_in=self._count(entry, "tokens_in", where),
            tokens_out=self._count(entry, "tokens_out", where),
            cost_usd=self._usd(entry, where),
            error=cast(FailureReason | None, self._one_of(entry, "error", FAILURE_REASONS, where)),
        )

    def _one_of(self, entry: Mapping[str, Any], key: str, known: frozenset[str], where: str) -> str | None:
        value = entry.get(key)
        if value is None and key not in entry:
            return None
        if not isinstance(value, str) or value not in known:
            raise InputError(f"{self._file}: {where}: {key} is {value!r}; it must be one of {', '.join(sorted(known))}")
        return value

    def _count(self, entry: Mapping[str, Any], key: str, where: str) -> int | None:
        value = entry.get(key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise InputError(f"{self._file}: {where}: {key} is {value!r}; it must be a whole number of tokens")
        return value

    def _usd(self, entry: Mapping[str, Any], where: str) -> float:
        value = entry.get("cost_usd", 0.0)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
            raise InputError(f"{self._file}: {where}: cost_usd is {value!r}; it must be a number of USD")
        return float(value)
