"""A model as a proposer: the prompt rendered, sent as it was recorded, and the answer taken whole."""

from evolve.core.completion import Completion, Message, Observer, estimate_tokens
from evolve.core.program import PatchKind
from evolve.patch.format import asks_for_code
from evolve.proposal import Request
from evolve.propose.prompts import KINDS, Prompts
from evolve.seams import LLM


class LLMProposer:
    """Proposes with one model. What is recorded as the prompt is, byte for byte, the one message that is sent."""

    kinds: frozenset[PatchKind] = frozenset(KINDS)

    def __init__(self, llm: LLM, prompts: Prompts) -> None:
        self.name = llm.name
        self._llm = llm
        self._prompts = prompts

    def prompt(self, request: Request) -> str:
        """The text for a request. Pure. Raises PromptTooLong when it cannot be held below the limit."""
        return self._prompts.render(request)

    def estimate_usd(self, prompt: str | None) -> float:
        """What an answer to `prompt` is likely to cost."""
        return self._llm.estimate_usd(estimate_tokens(prompt or ""))

    def answer(self, request: Request, prompt: str | None, observe: Observer) -> Completion:
        """The model's answer, usable or not (see `problem_of`). Raises CallFailed after the last retry."""
        if prompt is None:
            raise ValueError("a model cannot answer without a prompt")
        return self._llm.complete([Message(role="user", content=prompt)], key=request.key, observe=observe)


def problem_of(answer: Completion, kind: PatchKind) -> tuple[str, str] | None:
    """Why an answer to a question of that kind cannot hold a whole patch, as (reason, message for the model); None if
    it may.

    The reason is the finish reason. Whether the text of an answer without a problem is a patch is for
    `parse_patch` to say.
    """
    reason = answer.finish_reason
    if reason in ("stop", "unknown"):
        return None
    if reason == "no_gain":
        return reason, answer.text
    nothing = reason == "length" and not answer.text.strip()
    message = _MESSAGES["length_empty" if nothing else reason]
    only = "the program" if asks_for_code(kind) else "only the lines that change with what makes them unique"
    return reason, message.format(tokens=answer.usage.tokens_out, characters=len(answer.text), only=only)


_MESSAGES = {
    "length": (
        "The answer was cut off after {tokens} tokens, before its end, so nothing of it was applied. Send it again, "
        "whole and shorter: a brief reason, and {only}."
    ),
    "length_empty": (
        "The answer was cut off after {tokens} tokens, all of which went into thinking: not a word of the answer "
        "itself came. Think more briefly, and send the answer."
    ),
    "empty": "The answer was empty. Send one in the form described above.",
    "refusal": (
        "The answer was a refusal. The request is an ordinary optimisation of a small program, which runs in a "
        "sandbox. Send an answer in the form described above."
    ),
    "content_filter": (
        "The answer was withheld by a content filter on its way, so nothing of it was applied. Send one in the "
        "form described above, in plain technical words."
    ),
    "nothing": (
        "There is nothing to propose: no ingredient fits, no constant can be moved, and no other program differs. "
        "Offline, a task improves by the operators in its folder `ingredients`; with a model (--model) it needs none."
    ),
    "oversize": (
        "The answer was longer than {characters} characters, more than any program may have, so nothing of it was "
        "applied. Send a short one in the form described above, and nothing else."
    ),
}
