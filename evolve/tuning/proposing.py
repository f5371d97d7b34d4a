"""Tuning as a proposer: what answers the patch kind `tune` in a run, with a search in the place of a model."""

from evolve.archive.archive import Archive
from evolve.completion import Completion, Observer
from evolve.config import Config
from evolve.errors import PatchError
from evolve.judging.evaluators import EvaluatorPair
from evolve.language import Language, language_of
from evolve.program import TUNER, PatchKind
from evolve.proposal import Request
from evolve.seams import Evaluator
from evolve.tuning.conducting import NOTHING, Tuned, chance_in, chosen, measured_again, standing_of, tune
from evolve.usage import Usage

"""What the record calls whoever answered: no model is asked, nothing is sent."""


class Tuner:
    """Proposes the parent with better numbers, which it looks for in the sandbox. Every answer is a function of the
    request, as far as scores are without noise."""

    name = TUNER
    kinds = frozenset({PatchKind.TUNE})

    def __init__(self, evaluator: Evaluator, language: Language, *, evaluations: int, workers: int) -> None:
        """Search with so many evaluations for each answer, `workers` at a time."""
        self._evaluator = evaluator
        self._language = language
        self._evaluations = evaluations
        self._workers = workers

    def prompt(self, request: Request) -> str | None:
        """None: no text is sent to anybody."""
        return None

    def estimate_usd(self, prompt: str | None) -> float:
        """Nothing."""
        return 0.0

    def answer(self, request: Request, prompt: str | None, observe: Observer) -> Completion:
        """The patch with the best numbers; where none are better, or the parent's score is not the same when it is
        measured again, the answer says so and holds no patch. Raises EvaluationCancelled, TaskError."""
        source = request.parent.program.source
        if not chosen(source, self._language, evaluations=self._evaluations)[1]:
            return Completion(text="The program has no numbers to search.", finish_reason="no_gain", tuning=NOTHING)
        start = measured_again(self._evaluator, source, request.parent.evaluation)
        if (why := chance_in(start)) is not None:
            return Completion(text=f"Nothing was searched: {why}.", finish_reason="no_gain", tuning=NOTHING)
        tuned = tune(
            source,
            self._language,
            self._evaluator,
            start=standing_of(start),
            evaluations=self._evaluations,
            seed=f"{request.seed}:{request.generation}",
            workers=self._workers,
        )
        return completion_of(tuned, source)


def tuner_of(config: Config, archive: Archive, evaluators: EvaluatorPair) -> Tuner:
    """Who answers the kind `tune` in a run."""
    language, evaluations = language_of(archive.program_file), config.search.tune_evaluations
    return Tuner(evaluators.evaluator, language, evaluations=evaluations, workers=config.workers)


def completion_of(tuned: Tuned, parent: str) -> Completion:
    """What came of a search, as an answer to the question for kind `tune`."""
    usage, tuning = Usage(latency_s=tuned.took_s), tuned.recorded
    if not tuned.gained:
        text = f"No better numbers were found: {tuned.summary}."
        return Completion(text=text, finish_reason="no_gain", usage=usage, tuning=tuning)
    try:
        return Completion(text=tuned.patch(parent), usage=usage, tuning=tuning)
    except PatchError as unwritable:
        # The answer is then refused like a model's, and recorded with this reason.
        return Completion(text=f"No patch can hold what was found: {unwritable}", usage=usage, tuning=tuning)
