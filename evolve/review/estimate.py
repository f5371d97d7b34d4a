"""What a run is likely to cost, before it is paid for: arithmetic over a configuration and what is on record.

Before anything is on record, a proposal is taken to be one question, about as long as those that were measured
(docs/models.md), and a document to be written over every `meta_every` programs. At most, every proposal is asked as
often as it may be, each time of the dearest model that may be asked then, with the longest prompt and the longest
answer that is reckoned with. Calls that fail are in neither.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from evaluator.untrusted import one_line
from evolve.archive.reader import RunReader
from evolve.core.completion import UsualOutput
from evolve.core.config import Config, ModelConfig
from evolve.core.errors import InputError
from evolve.core.usage import Spending
from evolve.review.texts import counted
from evolve.trust import stored_config

RULES_TOKENS, SOURCES = 6000, 4
"""Tokens of a prompt: so many, and so many times those of the initial program, for others like it."""
ANSWER_TOKENS = 1350
DOCUMENT_IN, DOCUMENT_OUT = 3880, 380
"""Tokens that a meta document takes for each program that it is written over."""
ENOUGH = 10
"""From so many ended generations on, what they took is what the next ones will."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """US dollars, tokens and calls of `generations` proposals (None: no end is set, and the sums are of one);
    `unpriced` names the models of unknown price, and then there are no dollars. `affordable` says how many generations
    the budgets buy, None without one; `longest` is the longest answer reckoned with where a model has no limit."""

    generations: int | None
    about_usd: float | None
    at_most_usd: float | None
    affordable: int | None
    unpriced: tuple[str, ...]
    longest: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Each:
    """What one generation takes, its part of a document included."""

    usd: float
    tokens: float
    calls: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """The models that may cost something: `drawn` for a patch by weight; in the `first` attempt, and in those `again`
    after it, at all; and the `writer` of the documents, if one."""

    drawn: tuple[ModelConfig, ...]
    first: tuple[ModelConfig, ...]
    again: tuple[ModelConfig, ...]
    writer: tuple[ModelConfig, ...]

    @property
    def all(self) -> tuple[ModelConfig, ...]:
        """Each of them once."""
        return tuple({one.shown_name: one for one in (*self.first, *self.again, *self.writer)}.values())


def estimate(config: Config, *, source_tokens: int, begun: int = 0, ended: int = 0, spent: Spending) -> Estimate | None:
    """What the generations cost that are still to come of a run whose initial program has so many tokens, when `begun`
    have begun and `ended` have come to their end for what was `spent`. None where no model is asked that may cost."""
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
        longest=UsualOutput(None).tokens() if unlimited else None,
    )


def _asking(config: Config) -> _Asking:
    """Who may be asked for what."""
    if not config.models:
        return _Asking(drawn=(), first=(), again=(), writer=())

    def paid(*names: str | None) -> tuple[ModelConfig, ...]:
        return tuple(model for model in config.models if model.shown_name in names and model.script is None)

    drawn = [model.shown_name for model in config.models if model.weight]
    repair, named = config.repair_model, any(model.shown_name == config.meta_model for model in config.models)
    return _Asking(
        drawn=paid(*drawn),
        first=paid(*drawn, repair),  # the kind `fix` is asked for whatever its weight while no program is correct
        again=paid(*drawn) if repair is None else paid(repair),
        writer=paid(config.meta_model if named else drawn[0]),
    )


def _each(config: Config, asking: _Asking, *, prompt: int) -> _Each:
    """What a generation is likely to take."""
    shares = sum(model.weight for model in config.models)
    usd, tokens = _document_usd(asking), 0.0 + sum(DOCUMENT_IN + DOCUMENT_OUT for _ in asking.writer)
    for model in asking.drawn:
        answer = min(UsualOutput(model.max_tokens).tokens(), ANSWER_TOKENS)
        usd += model.weight / shares * (model.cost(prompt, answer) or 0.0)
        tokens += model.weight / shares * (prompt + answer)
    of_a_document = 1 + 2 / config.meta_every  # each program is described, and then two things are made of that
    return _Each(usd=usd, tokens=tokens, calls=1 + of_a_document)


def _most_usd(config: Config, asking: _Asking) -> float:
    """What a generation costs that is asked as often as it may be, each time of the dearest one."""

    def dearest(models: tuple[ModelConfig, ...]) -> float:
        answers = ((model, UsualOutput(model.max_tokens).tokens()) for model in models)
        costs = (model.cost(config.prompt_tokens, answer) or 0.0 for model, answer in answers)
        return max(costs, default=0.0)

    return dearest(asking.first) + (config.attempts - 1) * dearest(asking.again) + _document_usd(asking)


def _document_usd(asking: _Asking) -> float:
    return sum((model.cost(DOCUMENT_IN, DOCUMENT_OUT) or 0.0 for model in asking.writer), 0.0)


def _affordable(config: Config, each: _Each, spent: Spending, *, priced: bool) -> int | None:
    """How many more generations the budgets buy; None too where the price is so small that no number says it."""
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


def estimate_lines(found: Estimate, config: Config) -> Iterator[str]:
    """An estimate in sentences, and where each price is from."""
    what = "a generation" if found.generations is None else counted(found.generations, "generation")
    if found.about_usd is None or found.at_most_usd is None:
        names = ", ".join(found.unpriced)
        line = (
            f"What {what} cost{'s' if found.generations in (None, 1) else ''} is unknown: no price of {names} is known"
        )
    else:
        as_long = f" with answers of up to {found.longest:,} tokens" if found.longest is not None else ""
        line = f"{what[0].upper()}{what[1:]}: about {_usd(found.about_usd)}, at most {_usd(found.at_most_usd)}{as_long}"
    if found.affordable is not None:
        line += f"; the budget buys about {counted(found.affordable, 'generation')}"
    yield f"{line}."
    for model in config.models:
        if model.script is None and model.price_in is not None and model.price_out is not None:
            yield price_text(model)


def price_text(model: ModelConfig) -> str:
    """What a model costs, and who says so."""
    if model.price_in is None or model.price_out is None:
        return f"{model.shown_name}: price unknown"
    cached = "" if model.price_cached is None else f" ({model.price_cached:g} from the cache)"
    where = model.price_from or "the configuration"
    return (
        f"{model.shown_name}: {model.price_in:g} USD{cached} per million tokens in, {model.price_out:g} out, "
        f"says {where}"
    )


def prices_on_record(archive: RunReader, *, model: str | None = None) -> list[str]:
    """What the models of a run cost, and who says so, a line each: all that are real, or the one of that name. Nothing
    where the configuration cannot be read."""
    try:
        models = stored_config(archive).models
    except InputError:  # whoever shows the configuration says why
        return []
    return [one_line(price_text(one), 400) for one in models if one.script is None and model in (None, one.shown_name)]


def _usd(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0.1 or amount == 0 else f"${amount:.2g}"
