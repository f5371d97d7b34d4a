"""Opens what a configuration names: proposers and the summarizer (offline where no model is named), the task of a run,
and the initial program."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import cast

from evaluator.errors import TaskError
from evaluator.program_files import Files
from evaluator.task import Suite, Task
from evaluator.task_files import load_task
from evolve.archive.reader import RunReader
from evolve.core.completion import Adaptation, OutputLengthEstimator
from evolve.core.config import Config, ModelConfig
from evolve.core.dotted import open_dotted
from evolve.core.errors import InputError
from evolve.core.files import read_program, read_text
from evolve.core.invocation import command
from evolve.core.program import PatchKind, check_files, check_program
from evolve.evaluation.beginning import initial_path
from evolve.insights.summarizer import ModelSummarizer, OfflineSummarizer
from evolve.lang.languages import TEXT, language_of, language_of_task
from evolve.proposal import SearchSettings
from evolve.propose.command_llm import CommandLLM
from evolve.propose.limiter import Limiters
from evolve.propose.llm_proposer import LLMProposer
from evolve.propose.offline.proposer import OfflineProposer
from evolve.propose.openai_llm import EndpointKnowledge, OpenAILLM
from evolve.propose.prompts import Prompts
from evolve.propose.scripted import ScriptedLLM
from evolve.propose.waking import WakingEvent
from evolve.seams import LLM, Proposer, Summarizer


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryWriter:
    """The summarizer of insights reports, and the model that it asks: None where code alone writes them."""

    summarizer: Summarizer
    llm: LLM | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The proposers by name, the share of each, and the writer of insights reports."""

    proposers: Mapping[str, Proposer]
    shares: Mapping[str, float]
    writer: SummaryWriter
    usual: Mapping[str, OutputLengthEstimator]  # how long an answer of each model may be, where that is not in a script
    stopping: WakingEvent = field(default_factory=WakingEvent)  # ends their calls and waits

    def search_settings(self, config: Config) -> SearchSettings:
        """The arguments of a strategy that chooses among these proposers."""
        # Tuning asks no model, so that each of them can do it.
        kinds = {name: proposer.kinds | {PatchKind.TUNE} for name, proposer in self.proposers.items()}
        return SearchSettings(config=config.search, seed=config.seed, shares=self.shares, kinds=kinds)

    def recall(self, archive: RunReader) -> None:
        """Learn the length of answers from those on record."""
        for generation in archive.statuses:
            for attempt in archive.attempts(generation):
                if attempt.answer is not None and attempt.model in self.usual:
                    self.usual[attempt.model].note(attempt.usage.tokens_out)
        writer = None if self.writer.llm is None else self.usual.get(self.writer.llm.name)
        if writer is not None:
            for event in archive.timeline.meta_answers.values():
                writer.note(event.tokens_out)


def open_models(
    config: Config,
    task: Task,
    suite: Suite,
    adaptations: Sequence[Adaptation] = (),
    *,
    opened: Callable[[ModelConfig], LLM] | None = None,
) -> Models:
    """Open the proposers and the summarizer. Nothing is sent yet. `adaptations` are those on record, and `opened`
    replaces `open_llm` where it is given.

    Raises MachineError naming the variable of a key that is not set, InputError for a bad URL, script or template.
    """
    if not config.models:
        offline = OfflineProposer(
            task.ingredients,
            entry_point=task.entry_point,
            language=language_of_task(task),
            rules=task.program_folder,
        )
        writer = SummaryWriter(summarizer=OfflineSummarizer(task.objective.unit), llm=None)
        return Models(proposers={offline.name: offline}, shares={offline.name: 1.0}, writer=writer, usual={})
    stopping, usual = (
        WakingEvent(),
        {model.shown_name: OutputLengthEstimator(model.max_tokens) for model in config.models if model.script is None},
    )
    client = opened or partial(
        open_llm,
        seed=config.seed,
        stopping=stopping,
        limiters=Limiters(),
        usual=usual,
        adaptations=adaptations,
        keys=config.key_variables,
    )
    llms = {model.shown_name: client(model) for model in config.models}
    folder = None if config.prompts_dir is None else Path(config.prompts_dir)
    prompts = Prompts(task=task, suite=suite, folder=folder, max_tokens=config.prompt_tokens)
    return Models(
        proposers={name: LLMProposer(llm, prompts) for name, llm in llms.items()},
        shares={model.shown_name: model.weight for model in config.models},
        usual=usual,
        stopping=stopping,
        writer=SummaryWriter(
            summarizer=ModelSummarizer(prompts.fill, prompt_tokens=config.prompt_tokens, unit=task.objective.unit),
            llm=llms[config.meta_model or next(model.shown_name for model in config.models if model.weight)],
        ),
    )


def open_llm(
    model: ModelConfig,
    *,
    seed: int,
    stopping: WakingEvent,
    limiters: Limiters,
    keys: Collection[str],
    usual: Mapping[str, OutputLengthEstimator] = MappingProxyType({}),
    adaptations: Sequence[Adaptation] = (),
) -> LLM:
    """Open the client of one configured model. `limiters` and `keys` (variables with keys) are those of all models of
    the run, `usual` learns the length of each model's answers, and `adaptations` are those of earlier sessions."""
    if model.client is not None:
        methods = ("estimate_usd", "complete")
        client = open_dotted(model.client, model, key="models.client", methods=methods)
        if not isinstance(getattr(client, "name", None), str):
            raise InputError(
                f"models.client: {model.client!r} makes a client without a `name`; it is what the record says"
            )
        return cast(LLM, client)
    if model.script is not None:
        return ScriptedLLM(model.script)
    if model.command is not None:
        return CommandLLM(model, stopping=stopping, keys=keys, seed=seed, usual=usual.get(model.shown_name))
    knowledge = EndpointKnowledge(
        adaptations=adaptations, limiter=limiters.of(model), usual=usual.get(model.shown_name)
    )
    return OpenAILLM(model, seed=seed, stopping=stopping, known=knowledge)


def task_of_run(archive: RunReader, name: str, *, verb: str, rest: Sequence[str | Path] = ()) -> Task:
    """Load the task of a run, by its name or its present folder; `verb` is the command for the hint of an error, `rest`
    what follows the run in it.

    Raises InputError when it is not there, or is another task.
    """
    try:
        task = load_task(name)
    except TaskError as missing:
        if Path(name).exists():
            raise
        hint = command(verb, archive.folder, *rest, "--task", "FOLDER")
        raise InputError(f"{missing}. Name its present folder: {hint}") from None
    require_task_of(archive, task, named=name)
    return task


def require_task_of(archive: RunReader, task: Task, *, named: str) -> None:
    """Raise InputError unless a run is of this task: by its name, or by its digest where its folder was renamed."""
    name, digest = archive.identity["task"], archive.identity.get("task_digest")
    if name != task.name and digest != task.digest:
        raise InputError(
            f"{named}: this is the task {task.name!r}, and the run is of {name!r}; if only the folder was renamed, put "
            f"`name: {name}` into its task.yaml"
        )


def initial_files(config: Config, task: Task) -> Files:
    """Read and check the initial program. Raises InputError, ProgramError and TaskError, which name the file."""
    if task.repository is not None:
        return task.initial_files()
    path, language = initial_path(config, task), language_of_task(task)
    if task.program_folder is not None:
        files = read_program(path, task)
        check_files(files, folder=str(path))
        return files
    if (actual := language_of(path)) not in (language, TEXT):
        new_task = command("new", "FOLDER", "--kind", "script")
        remedy = "choose a task for that language"
        if task.script is None:
            remedy = f"a task with a script takes other languages (`script` in task.yaml; `{new_task}` makes one)"
        raise InputError(
            f"{path}: the file name says {actual.name}, but programs of the task {task.name!r} are {language.name}; "
            f"{remedy}"
        )
    source = read_text(path).removeprefix("\ufeff")
    check_program(source, language=language, entry_point=task.entry_point, name=str(path))
    return Files.single(task.program_name, source)
