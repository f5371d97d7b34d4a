"""The estimated cost of a run in advance: arithmetic over a configuration and the record.

Before anything is on record, a proposal counts as one question of the length that was measured (docs/models.md), and an
insights report is written every `meta_every` programs. The upper limit assumes that each proposal uses all its
attempts, each at the most expensive model allowed there, with the longest prompt and the longest expected answer.
Failed calls are in neither figure.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from evaluator.untrusted import one_line
from evolve.archive.reader import RunReader
from evolve.core.completion import OutputLengthEstimator
from evolve.core.config import Config, ModelConfig
from evolve.core.errors import InputError
from evolve.core.usage import Spending
from evolve.review.texts import counted
from evolve.trust import stored_config

RULES_TOKENS, SOURCES = 6000, 4
"""Tokens of a prompt: for its rules, and how many programs like the initial one it holds."""
ANSWER_TOKENS = 1350
DOCUMENT_IN, DOCUMENT_OUT = 3880, 380
"""Tokens of an insights report per program that it summarises."""
ENOUGH = 10
"""With at least this many ended generations, their average cost predicts the next ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The dollars of `generations` proposals (None: no end is set, and the sums are of one proposal). `unpriced` names
    the models of unknown price; with any, there are no dollars. `affordable` is the number of generations that the
    budgets buy, None without a budget. `longest` is the longest expected answer where a model has no limit."""

    generations: int | None
    about_usd: float | None
    at_most_usd: float | None
    affordable: int | None
    unpriced: tuple[str, ...]
    longest: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Each:
    """The cost of one generation, with its share of an insights report."""

    usd: float
    tokens: float
    calls: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """The models that may cost something: `drawn` for a patch by weight; all that can get the `first` attempt, or the
    attempts `again` after it; and the `writer` of insights reports, if any."""

    drawn: tuple[ModelConfig, ...]
    first: tuple[ModelConfig, ...]
    again: tuple[ModelConfig, ...]
    writer: tuple[ModelConfig, ...]

    @property
    def all(self) -> tuple[ModelConfig, ...]:
        """Each of them once."""
        return tuple({model.shown_name: model for model in (*self.first, *self.again, *self.writer)}.values())


def estimate(config: Config, *, source_tokens: int, begun: int = 0, ended: int = 0, spent: Spending) -> Estimate | None:
    """The cost of the remaining generations of a run. `source_tokens`: the length of its initial program; `begun` and
    `ended`: how many generations have begun and ended; `spent`: their cost. None if no model can cost anything."""
    asking = _asking(config)
    if not asking.all:
        return None
    left = None if config.generations is None else max(0, config.generations - begun)
    unpriced = tuple(model.shown_name for model in asking.all if model.price_in is None or model.price_out is None)
    prompt = min(config.prompt_tokens, RULES_TOKENS + SOURCES * source_tokens)
    each = _each(config, asking, prompt=prompt)
    if ended >= ENOUGH and not spent.unpriced:
        each = _Each(usd=spent.known_usd / ended, tokens=spent.tokens / ended, calls=spent.calls / ended)
    count = 1 if left is None else left
    unlimited = any(model.max_tokens is None for model in asking.all)
    return Estimate(
        generations=left,
        about_usd=None if unpriced else count * each.usd,
        at_most_usd=None if unpriced else count * max(each.usd, _most_usd(config, asking)),
        affordable=_affordable(config, each, spent, priced=not unpriced),
        unpriced=unpriced,
        longest=OutputLengthEstimator(None).tokens() if unlimited else None,
    )


def _asking(config: Config) -> _Asking:
    """Which models can be asked for patches, repairs and insights reports."""
    if not config.models:
        return _Asking(drawn=(), first=(), again=(), writer=())

    def paid(*names: str | None) -> tuple[ModelConfig, ...]:
        return tuple(model for model in config.models if model.shown_name in names and model.script is None)

    drawn = [model.shown_name for model in config.models if model.weight]
    repair, named = config.repair_model, any(model.shown_name == config.meta_model for model in config.models)
    return _Asking(
        drawn=paid(*drawn),
        first=paid(*drawn, repair),  # while no program is correct, the kind `fix` is requested whatever its weight
        again=paid(*drawn) if repair is None else paid(repair),
        writer=paid(config.meta_model if named else drawn[0]),
    )


def _each(config: Config, asking: _Asking, *, prompt: int) -> _Each:
    """The likely cost of a generation."""
    shares = sum(model.weight for model in config.models)
    usd, tokens = _document_usd(asking), 0.0 + sum(DOCUMENT_IN + DOCUMENT_OUT for _ in asking.writer)
    for model in asking.drawn:
        answer = min(OutputLengthEstimator(model.max_tokens).tokens(), ANSWER_TOKENS)
        usd += model.weight / shares * (model.cost(prompt, answer) or 0.0)
        tokens += model.weight / shares * (prompt + answer)
    report_calls = 1 + 2 / config.meta_every  # a summary per program, then scratchpad and recommendations
    return _Each(usd=usd, tokens=tokens, calls=1 + report_calls)


def _most_usd(config: Config, asking: _Asking) -> float:
    """The cost of a generation that uses all attempts, each at the most expensive model."""

    def most(models: tuple[ModelConfig, ...]) -> float:
        answers = ((model, OutputLengthEstimator(model.max_tokens).tokens()) for model in models)
        costs = (model.cost(config.prompt_tokens, answer) or 0.0 for model, answer in answers)
        return max(costs, default=0.0)

    return most(asking.first) + (config.attempts - 1) * most(asking.again) + _document_usd(asking)


def _document_usd(asking: _Asking) -> float:
    return sum((model.cost(DOCUMENT_IN, DOCUMENT_OUT) or 0.0 for model in asking.writer), 0.0)


def _affordable(config: Config, each: _Each, spent: Spending, *, priced: bool) -> int | None:
    """How many more generations the budgets buy; also None if the price is too small for a finite number."""
    bought = [
        max(0.0, budget - gone) / of_one
        for budget, gone, of_one in (
            (config.budget_usd if priced else None, spent.known_usd, each.usd),
            (config.budget_tokens, spent.tokens, each.tokens),
            (config.budget_calls, spent.calls, each.calls),
        )
        if budget is not None and of_one > 0
    ]
    return int(min(bought)) if bought and isfinite(min(bought)) else None


def estimate_lines(costs: Estimate, config: Config) -> Iterator[str]:
    """An estimate in sentences, and the source of each price."""
    subject = "a generation" if costs.generations is None else counted(costs.generations, "generation")
    if costs.about_usd is None or costs.at_most_usd is None:
        names = ", ".join(costs.unpriced)
        line = f"{subject[0].upper()}{subject[1:]}: cost unknown, since the price of {names} is unknown"
    else:
        as_long = f" with answers of up to {costs.longest:,} tokens" if costs.longest is not None else ""
        about, at_most = _usd(costs.about_usd), _usd(costs.at_most_usd)
        line = f"{subject[0].upper()}{subject[1:]}: about {about}, at most {at_most}{as_long}"
    if costs.affordable is not None:
        line += f"; the budget buys about {counted(costs.affordable, 'generation')}"
    yield f"{line}."
    for model in config.models:
        if model.script is None and model.price_in is not None and model.price_out is not None:
            yield price_text(model)


def price_text(model: ModelConfig) -> str:
    """The price of a model and its source."""
    if model.price_in is None or model.price_out is None:
        return f"{model.shown_name}: price unknown"
    cached = "" if model.price_cached is None else f" ({model.price_cached:g} from the cache)"
    where = model.price_from or "from your configuration"
    return (
        f"{model.shown_name}: {model.price_in:g} USD{cached} per million tokens in, {model.price_out:g} out ({where})"
    )


def prices_on_record(archive: RunReader, *, model: str | None = None) -> list[str]:
    """The prices of a run's models and their sources, a line each: of all that are no script, or of the named one.
    Empty if the configuration cannot be read."""
    try:
        models = stored_config(archive).models
    except InputError:  # `config_json` reports it
        return []
    return [
        one_line(price_text(priced), 400)
        for priced in models
        if priced.script is None and model in (None, priced.shown_name)
    ]


def _usd(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0.1 or amount == 0 else f"${amount:.2g}"
