"""What the process that the forks come from has done before: templates compiled, and modules imported that a run needs
later. Imported for that alone."""

import git  # noqa: F401 - for the forks
import pyflakes.checker  # noqa: F401 - for the forks

from evaluator.task_files import load_task
from evolve.propose.prompts import Prompts
from tests.templates import share_compiled

share_compiled()
_TASK = load_task("placement")
Prompts(task=_TASK, suite=_TASK.suite(), folder=None, max_tokens=1)
