"""Opens what a configuration names: who proposes and who summarises (the offline proposer where no model is named), and
the initial program."""

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import cast

from evaluator.errors import TaskError
from evaluator.task import Suite, Task
from evaluator.task_files import load_task
from evolve.archive.reader import RunReader
from evolve.core.completion import Adaptation, UsualOutput
from evolve.core.config import Config, ModelConfig
from evolve.core.dotted import open_dotted
from evolve.core.errors import InputError
from evolve.core.invocation import command
from evolve.core.program import PatchKind, check_program
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
from evolve.seams import LLM, Proposer, Summarizer


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryWriter:
    """Who writes the meta documents, and the model that is asked for them: None where code alone does."""

    summarizer: Summarizer
    llm: LLM | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """Who writes patches, by name with its share, and who writes the meta documents."""

    proposers: Mapping[str, Proposer]
    shares: Mapping[str, float]
    writer: SummaryWriter
    usual: Mapping[str, UsualOutput]  # how long an answer of each model may be, where that is not in a script

    def search_settings(self, config: Config) -> SearchSettings:
        """What a strategy is made of, with these to ask."""
        return SearchSettings(
            config=config.search,
            seed=config.seed,
            shares=self.shares,
            kinds={name: proposer.kinds | {PatchKind.TUNE} for name, proposer in self.proposers.items()},  # no model's
        )

    def recall(self, archive: RunReader) -> None:
        """Take up how long the answers on record were."""
        for generation in archive.statuses:
            for attempt in archive.attempts(generation):
                if attempt.answer is not None and attempt.model in self.usual:
                    self.usual[attempt.model].note(attempt.usage.tokens_out)
        writer = None if self.writer.llm is None else self.usual.get(self.writer.llm.name)
        if writer is not None:
            for event in archive.chronicle.meta_answers.values():
                writer.note(event.tokens_out)


def open_models(
    config: Config,
    task: Task,
    suite: Suite,
    stopping: threading.Event,
    adaptations: Sequence[Adaptation] = (),
    *,
    opened: Callable[[ModelConfig], LLM] | None = None,
) -> Models:
    """Who proposes and who summarises. Nothing is sent yet; `stopping` will end calls under way, and `adaptations` are
    on record already. `opened`: what stands in for the client of each model.

    Raises MachineError naming the variable of a key that is not set, InputError for a bad URL, script or template.
    """
    if not config.models:
        offline = OfflineProposer(task.ingredients, entry_point=task.entry_point, language=language_of_task(task))
        writer = SummaryWriter(summarizer=OfflineSummarizer(task.objective.unit), llm=None)
        return Models(proposers={offline.name: offline}, shares={offline.name: 1.0}, writer=writer, usual={})
    usual = {model.shown_name: UsualOutput(model.max_tokens) for model in config.models if model.script is None}
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
        writer=SummaryWriter(
            summarizer=ModelSummarizer(
                render=prompts.fill, prompt_tokens=config.prompt_tokens, unit=task.objective.unit
            ),
            llm=llms[config.meta_model or next(model.shown_name for model in config.models if model.weight)],
        ),
    )


def open_llm(
    model: ModelConfig,
    *,
    seed: int,
    stopping: threading.Event,
    limiters: Limiters,
    keys: Collection[str],
    usual: Mapping[str, UsualOutput] = MappingProxyType({}),
    adaptations: Sequence[Adaptation] = (),
) -> LLM:
    """The client of one configured model; `limiters` are those of all the models of the run and `keys` the variables
    with the keys of all of them, `usual` learns how long the answers of each are, and `adaptations` are what earlier
    sessions learnt of endpoints."""
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
    known = EndpointKnowledge(adaptations=adaptations, limiter=limiters.of(model), usual=usual.get(model.shown_name))
    return OpenAILLM(model, seed=seed, stopping=stopping, known=known)


def initial_path(config: Config, task: Task) -> Path:
    """The file of the initial program."""
    return task.initial if config.initial is None else Path(config.initial)


def task_of_run(archive: RunReader, name: str, *, verb: str) -> Task:
    """The task of a run, by its name or where its folder lies now; `verb` is the command that asks.

    Raises InputError when it is not there, or is another task.
    """
    try:
        task = load_task(name)
    except TaskError as lost:
        if Path(name).exists():
            raise
        where = command(verb, archive.folder, "--task", "FOLDER")
        raise InputError(f"{lost}. Say where it lies now: {where}") from None
    require_task_of(archive, task, named=name)
    return task


def require_task_of(archive: RunReader, task: Task, *, named: str) -> None:
    """Raise InputError unless a run is of this task: by its name, or by its digest where its folder was renamed."""
    name, digest = archive.identity["task"], archive.identity.get("task_digest")
    if name != task.name and digest != task.digest:
        raise InputError(
            f"{named}: is the task {task.name!r}, and the run is of {name!r}; if the folder was only renamed, put "
            f"`name: {name}` into its task.yaml"
        )


def initial_source(config: Config, task: Task) -> str:
    """The initial program, checked. Raises InputError and ProgramError, which name the file."""
    path, language = initial_path(config, task), language_of_task(task)
    if (found := language_of(path)) not in (language, TEXT):
        made = command("new", "FOLDER", "--kind", "script")
        by_script = f"are run by a script (`script` in task.yaml; `{made}` makes one)"
        how = by_script if task.script is None else "belong to another task"
        raise InputError(
            f"{path}: is {found.name} by its name, and programs of the task {task.name!r} are {language.name}; those "
            f"in other languages {how}"
        )
    if path.exists() and not path.is_file():
        raise InputError(f"{path}: is not a file, so it cannot be read")
    try:
        # newline="": the program's own line ends are kept.
        with path.open(encoding="utf-8-sig", newline="") as file:
            source = file.read()
    except OSError as cause:
        raise InputError(f"{path}: the initial program cannot be read ({cause.strerror})") from None
    except UnicodeDecodeError as cause:
        raise InputError(f"{path}: the initial program is not UTF-8 text (byte {cause.start})") from None
    check_program(source, language=language, entry_point=task.entry_point, name=str(path))
    return source
