"""Plays a program against a trace in this process, as the runner does it: for our own programs only."""

import json
import random
import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evaluator.conversation import Conversation
from evaluator.task import Instance, Suite
from evaluator.task_files import load_task
from evaluator.tasks.cant_be_late import adapter

PROGRAMS = Path(__file__).resolve().parents[4] / "programs" / "cant_be_late"
TASK = load_task("cant_be_late")
Decide = Callable[[dict[str, Any]], Any]


def program(name: str) -> Decide:
    """The entry point of a program that ships with the task: `initial`, `baselines/greedy`."""
    entry: Decide = runpy.run_path(str(PROGRAMS / f"{name}.py"))["decide"]
    return entry


def played(decide: Decide, data: Mapping[str, Any]) -> Conversation:
    """The conversation on an instance, at its end."""
    assert TASK.judge.converse is not None
    conversation = TASK.judge.converse(Instance(index=0, data=dict(data)))
    text = conversation.after(None)
    assert text is not None
    prepare = adapter.begin(json.loads(text))
    while text is not None:
        (now,), encode = prepare(json.loads(text))
        text = conversation.after(json.loads(json.dumps(encode(decide(now)))))
    conversation.close()
    return conversation


def answers_of(decide: Decide, data: Mapping[str, Any]) -> list[Any]:
    """What a rule answers to the ticks of an instance, through the adapter."""
    return played(decide, data).answers


def mean_cost(decide: Decide, suite: Suite) -> float:
    """The mean cost of a rule over a suite, by the judge."""
    verdicts = []
    for instance in suite.instances:
        verdict = played(decide, instance.data).verdict
        assert verdict is not None and verdict.cost is not None, (instance.index, verdict)
        verdicts.append(verdict)
    return TASK.judge.summarise(verdicts, suite.instances).metrics["mean_cost"]


def drawn(rng: random.Random, longest: int) -> dict[str, Any]:
    """A small instance: at most `longest` ticks, spot in stretches of about three ticks."""
    deadline = rng.randint(1, longest)
    marks = rng.choice("01")
    while len(marks) < deadline:
        marks += marks[-1] if rng.random() < 0.7 else rng.choice("01")
    return {"work": rng.randint(1, deadline), "deadline": deadline, "overhead": rng.randint(0, 3), "spot": marks}
