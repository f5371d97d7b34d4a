"""The first question that a run of a configuration would put to a model, as it would be put; its answer, tried."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from evaluator.task import Task
from evaluator.task_files import load_task
from evolve.completion import Completion, Observer
from evolve.config import Config
from evolve.errors import PatchError
from evolve.judging.beginning import begin_archive, judge_initial
from evolve.judging.evaluators import open_evaluators
from evolve.language import language_of_task
from evolve.opening import initial_source
from evolve.proposal import Request, SearchSettings
from evolve.propose.building import build_program
from evolve.propose.llm_proposer import LLMProposer
from evolve.propose.prompts import Prompts
from evolve.propose.requests import Requests, fitting
from evolve.seams import LLM
from evolve.search.strategies import open_search


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstQuestion:
    """A task with its initial program scored, and what is asked of a model about it first."""

    task: Task
    request: Request
    prompts: Prompts

    def put(self, llm: LLM, observe: Observer) -> Completion:
        """The model's answer to it. Raises CallFailed."""
        proposer = LLMProposer(llm, self.prompts)
        request, prompt = fitting(proposer, self.request)
        return proposer.answer(request, prompt, observe)

    def unusable(self, answer: Completion) -> str | None:
        """Why an answer makes no new program; None when it does."""
        parent = self.request.parent
        try:
            build_program(
                answer,
                kind=self.request.kind,
                parent_source=parent.program.source,
                parent_works=parent.evaluation.correct,
                language=language_of_task(self.task),
                task=self.task,
                known=lambda _: None,
            )
        except PatchError as refused:
            return f"{refused.reason}: {refused}"
        return None


@contextmanager
def first_question(config: Config, name: str) -> Iterator[FirstQuestion]:
    """What a run would ask first, were the model of that name its only one. The initial program is scored for it, and
    nothing is left on the disk. Raises InputError, TaskError, SandboxError."""
    task = load_task(config.task)
    source = initial_source(config, task)
    with (
        tempfile.TemporaryDirectory(prefix="evolve-doctor-") as folder,
        open_evaluators(task, config.suite, workers=1, control=source, seed=config.seed) as evaluators,
    ):
        initial = judge_initial(config, source, evaluators)
        with begin_archive(Path(folder) / "run", config, source, initial, evaluators) as archive:
            shares, kinds = {name: 1.0}, {name: LLMProposer.kinds}
            settings = SearchSettings(config=config.search, seed=config.seed, shares=shares, kinds=kinds)
            search = open_search(settings)
            search.restore(archive.history())
            requests = Requests(archive, seed=config.seed, elites=config.search.elites)
            request = requests.make(1, 0, search.choose(1), [], None)
            prompts = Prompts(
                task=task,
                suite=evaluators.evaluator.suite,
                folder=None if config.prompts_dir is None else Path(config.prompts_dir),
                max_tokens=config.prompt_tokens,
            )
            yield FirstQuestion(task=task, request=request, prompts=prompts)
