"""What the process that the forks come from has done before: templates compiled, modules imported and the readers of
events made that a run needs later. Imported for that alone."""

import contextlib
import gc

import git  # noqa: F401 - for the forks
import pyflakes.checker  # noqa: F401 - for the forks

import tests.loop.climbing  # noqa: F401 - for the forks
from evaluator.task_files import load_task
from evolve.archive.events import EVENTS, read_event
from evolve.propose.prompts import Prompts
from tests.templates import share_compiled

share_compiled()
_TASK = load_task("placement")
Prompts(task=_TASK, suite=_TASK.suite(), folder=None, max_tokens=1)
for _name in EVENTS:
    with contextlib.suppress(ValueError):  # it lacks all other fields; its reader is made all the same
        read_event({"event": _name})
# No fork looks for garbage in what all of them share, nor writes to its pages.
gc.collect()
gc.freeze()
