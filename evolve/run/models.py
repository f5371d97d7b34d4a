"""From the configuration to those who propose and summarise: models, or the offline proposer when none is named."""

import threading
from pathlib import Path

from evaluator.task import Suite, Task
from evolve.completion import ModelSettings
from evolve.config import Config, ModelConfig
from evolve.meta.summarizer import ModelSummarizer, OfflineSummarizer
from evolve.offline.proposer import OfflineProposer
from evolve.propose.llm_proposer import LLMProposer
from evolve.propose.openai_llm import OpenAILLM
from evolve.propose.prompts import Prompts
from evolve.propose.scripted import ScriptedLLM
from evolve.run.rounds import Writing
from evolve.seams import LLM, Proposer

Proposers = tuple[tuple[Proposer, float], ...]
"""Who writes patches, each with its share."""


def open_models(config: Config, task: Task, suite: Suite, stopping: threading.Event) -> tuple[Proposers, Writing]:
    """Who proposes and who summarises. Nothing is sent yet; `stopping` will end calls under way.

    Raises MachineError naming the variable of a key that is not set, InputError for a bad URL, script or template.
    """
    if not config.models:
        offline = OfflineProposer(task.ingredients, entry_point=task.entry_point)
        return ((offline, 1.0),), Writing(summarizer=OfflineSummarizer())
    llms = {model.shown_name: open_llm(model, seed=config.seed, stopping=stopping) for model in config.models}
    folder = None if config.prompts_dir is None else Path(config.prompts_dir)
    prompts = Prompts(task=task, suite=suite, folder=folder, max_tokens=config.prompt_tokens)
    proposers = tuple((LLMProposer(llms[model.shown_name], prompts), model.weight) for model in config.models)
    summarizer = ModelSummarizer(render=prompts.fill, parallel=config.parallel)
    return proposers, Writing(summarizer=summarizer, llm=llms[config.meta_model or next(iter(llms))])


def open_llm(model: ModelConfig, *, seed: int, stopping: threading.Event) -> LLM:
    """The client of one configured model."""
    if model.script is not None:
        return ScriptedLLM(Path(model.script))
    return OpenAILLM(settings_of(model), seed=seed, stopping=stopping)


def settings_of(model: ModelConfig) -> ModelSettings:
    """What a client needs to know of a configured model."""
    return ModelSettings(
        name=model.shown_name,
        model=model.model,
        base_url=model.base_url,
        api_key_env=model.api_key_env,
        temperature=model.temperature,
        max_tokens=model.max_tokens,
        timeout_s=model.timeout_s,
        price_in=model.price_in,
        price_out=model.price_out,
    )
