"""A model for long runs on the task `placement`: it adds a step to the program that it is shown, with a reason.

Words are drawn at random, by the key of the request, so that they compress worse than those that a model writes. One
answer in ten is of no use.
"""

import os
import random
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from evolve.core.completion import CallEvent, CallPhase, Completion, PatchKey, RequestKey
from evolve.core.usage import Usage

ROOT = Path(__file__).parents[2]
WORDS = (ROOT / "docs" / "generation.md").read_text(encoding="utf-8").replace("`", "").split()
INITIAL = (ROOT / "programs" / "placement" / "initial.py").read_text(encoding="utf-8")
TITLES = (
    "Successful Algorithmic Patterns",
    "Ineffective Approaches",
    "Implementation Insights",
    "Performance Analysis",
)


class Worded:
    """The client. It costs what a small model would."""

    def __init__(self, settings: Any) -> None:
        self.name = settings.shown_name

    def estimate_usd(self, tokens_in: int) -> float:
        return 0.0

    def complete(self, messages: Any, *, key: RequestKey, observe: Any) -> Completion:
        observe(CallEvent(call=0, phase=CallPhase.CALLING, status="calling"))
        chance = random.Random(str(key))
        named = _GENERATIONS.findall(messages[0].content)
        text = answer(key.generation, chance) if isinstance(key, PatchKey) else meta(key.question.step, chance, named)
        asked = sum(len(message.content) for message in messages) // 4
        usage = Usage(tokens_in=asked, tokens_out=len(text) // 4, cost_usd=asked * 1e-6, latency_s=chance.random())
        observe(CallEvent(call=0, phase=CallPhase.ANSWERED, status="stop", usage=usage))
        return Completion(text=text, finish_reason="stop", usage=usage)


def prose(chance: random.Random, characters: int) -> str:
    """Text of about that length, in lines."""
    lines, length = [], 0
    while length < characters:
        lines.append(" ".join(chance.choices(WORDS, k=12)).replace("<", "").replace(">", ""))
        length += len(lines[-1]) + 1
    return "\n".join(lines)


def initial() -> str:
    """The task's initial program, with an order that patches build upon."""
    begun = "    placement = {gpu_id"
    order = "    order = lambda m: m.req_rate / m.slo  # the first order\n    # next step\n"
    text = INITIAL.replace(begun, order + begun, 1).replace("key=lambda m: m.req_rate / m.slo,", "key=order,")
    assert text.count("order") > 2
    return text


def answer(number: int, chance: random.Random) -> str:
    """A patch that adds a step of seven lines, with a reason in words; one in ten is of no use."""
    anchor = "    # a line that is nowhere" if number % 20 == 7 else "    # next step"
    factor = round(chance.uniform(-0.2, 0.2), 4)
    fault = f"    raise ValueError('step {number}')\n" if number % 20 == 13 else ""
    step = (
        f"    # {' '.join(chance.choices(WORDS, k=9))}\n"
        f"    largest_{number} = max(model.model_size for model in models)\n"
        f"    def order(m, before=order, weight={factor}):\n"
        f"        share = m.model_size / largest_{number}\n"
        f"        if share > {chance.uniform(0.2, 0.9):.3f}:\n"
        "            return before(m) * (1 + weight * share)\n"
        f"        return before(m) * (1 - weight * {chance.uniform(0, 0.5):.3f})\n{fault}"
    )
    patch = f"<<<<<<< SEARCH\n{anchor}\n=======\n{step}    # next step\n>>>>>>> REPLACE"
    head = f"<NAME>\nweigh_by_share_{number}\n</NAME>\n<DESCRIPTION>\n{prose(chance, 300)}\n</DESCRIPTION>"
    return f"{prose(chance, 1_000)}\n\n{head}\n<DIFF>\n{patch}\n</DIFF>\n"


def meta(step: str, chance: random.Random, generations: Sequence[str]) -> str:
    """What fits a step of the meta-summarizer."""
    texts = {
        "summaries": "\n".join(
            f"## Generation {generation}\n- **Implementation**: {prose(chance, 200)}\n- **Feedback**: go on.\n"
            for generation in generations
        ),
        "insights": "\n".join(f"## {title}\n- **Steps**: {prose(chance, 150)} [gen 1].\n" for title in TITLES)
        + f"\n## Recommendations\n1. **Go on**: {prose(chance, 200)}\n2. **Wait**: {prose(chance, 200)}\n",
    }
    return texts[step]


_GENERATIONS = re.compile(r"^# Generation (\d+):", re.MULTILINE)
ONLY_DIFF = {"diff": 1.0, "full": 0.0, "cross": 0.0, "fix": 0.0}


def long_run(folder: Path, generations: int, *, kinds: Mapping[str, float] = ONLY_DIFF) -> Path:
    """The folder of a run that this model made in `folder`. Its answers are blocks, whatever the kind asked for."""
    (folder / "initial.py").write_text(initial(), encoding="utf-8")
    document = {
        "task": "placement",
        "initial": str(folder / "initial.py"),
        "models": [{"model": "worded", "client": "worded:Worded", "api_key_env": None}],
        "generations": generations,
        "meta_every": 20,
        "attempts": 1,
        "parallel": 1,
        "search": {"kinds": dict(kinds)},
    }
    (folder / "long.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    command = [sys.executable, "-m", "evolve", "run", "long.yaml", "--name", "long"]
    here = os.environ | {"PYTHONPATH": f"{Path(__file__).parent}:{ROOT}"}
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=here)
    return folder / "runs" / "long"
