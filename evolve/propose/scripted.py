"""A model that reads its answers from a YAML file: for trying out tasks, prompts and whole runs without a server.

    answers:                      # one entry per generation, from generation 1 on
      - |                         # generation 1, however often it is asked
        <NAME> first </NAME> ...
      -                           # generation 2: a list, one entry per attempt; the last one stays
        - an answer that is refused
        - the repaired answer
      - {text: cut off, finish_reason: length, tokens_in: 900, tokens_out: 50, cost_usd: 0.01}
      - {error: server_error}     # generation 4: the call fails, as after the last retry
    meta:                         # one entry per insights report, from the first on
      - summaries: |              # of all programs of the report
          ...
        summaries/1/1: |          # where the first answer was of no use
          ...
        insights: {error: timeout}

Which answer is given depends on the request alone, never on the order of the calls.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints, model_validator

from evaluator.input_files import Section, checked
from evaluator.yaml_file import read_mapping
from evolve.core.completion import (
    CallEvent,
    CallFailed,
    CallPhase,
    Completion,
    FailureReason,
    FinishReason,
    Message,
    Observer,
    PatchKey,
    RequestKey,
    estimate_tokens,
)
from evolve.core.errors import InputError
from evolve.core.usage import Usage


class _Scripted(Section):
    """One entry of the file. Tokens None are estimated."""

    text: str = ""
    finish_reason: FinishReason = "stop"
    tokens_in: int | None = Field(default=None, ge=0)
    tokens_out: int | None = Field(default=None, ge=0)
    cost_usd: float = Field(default=0.0, ge=0)
    error: FailureReason | None = None

    @model_validator(mode="before")
    @classmethod
    def _says_one_thing(cls, entry: Any) -> Any:
        if isinstance(entry, str):
            return {"text": entry}
        if not isinstance(entry, dict) or (entry.get("text") is None) == (entry.get("error") is None):
            raise ValueError("must be text, or a mapping with either `text` or `error`")
        return entry


_Step = Annotated[str, StringConstraints(pattern=r"^(summaries|insights)(/[0-9]+/[0-9]+)?$")]
"""A step of a round, or one question of it: `insights`, `summaries/1/0`."""
_Attempts = Annotated[
    list[_Scripted], BeforeValidator(lambda entry: entry if isinstance(entry, list) else [entry]), Field(min_length=1)
]


class _ScriptFile(Section):
    """The whole file."""

    answers: list[_Attempts] = Field(default=[])
    meta: list[Annotated[dict[_Step, _Scripted], Field(min_length=1)]] = Field(default=[])


class ScriptedLLM:
    """The LLM in a file (see the module). `name` is `scripted` whatever the file: no path is part of a record."""

    name = "scripted"

    def __init__(self, file: Path) -> None:
        """Read and check `file` whole. Raises InputError naming the file, the entry and what is wrong."""
        self._file = file
        document = read_mapping(file, error=InputError)
        if not document:
            raise InputError(f"{file}: holds no answers (keys: answers, meta)")
        script = checked(_ScriptFile, document, file, InputError)
        self._answers, self._meta = script.answers, script.meta

    def estimate_usd(self, tokens_in: int) -> float:
        """Nothing: what an answer costs stands in the file."""
        return 0.0

    def complete(self, messages: Sequence[Message], *, key: RequestKey, observe: Observer) -> Completion:
        """The answer that the file has for `key`. Raises CallFailed, `script_ended` when it has none."""
        observe(CallEvent(call=0, phase=CallPhase.CALLING, status=CallPhase.CALLING, model=self.name))
        scripted = self._find(key)
        if scripted is None:
            held = f"{len(self._answers)} answers and {len(self._meta)} insights reports"
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
        observe(
            CallEvent(call=0, phase=CallPhase.ANSWERED, status=scripted.finish_reason, model=self.name, usage=usage)
        )
        return Completion(text=scripted.text, finish_reason=scripted.finish_reason, usage=usage)

    def _failed(self, reason: FailureReason, message: str, observe: Observer) -> CallFailed:
        message = f"{self._file.name}: {message}"  # recorded: where the file lies is this machine's affair
        observe(CallEvent(call=0, phase=CallPhase.FAILED, status=reason, model=self.name, message=message))
        return CallFailed(reason, message)

    def _find(self, key: RequestKey) -> _Scripted | None:
        if isinstance(key, PatchKey):
            if not 0 < key.generation <= len(self._answers):
                return None
            attempts = self._answers[key.generation - 1]
            return attempts[min(key.attempt, len(attempts) - 1)]
        if not 0 < key.round <= len(self._meta):
            return None
        steps = self._meta[key.round - 1]
        return steps.get(str(key.question)) or steps.get(key.question.step)
