"""From a program's source to a verdict: tasks, suites, judging, and running untrusted code.

It knows nothing of evolution: `evolve` imports this package, never the other way round. A task's `judge.py` imports its
exceptions from here: `from evaluator import Infeasible, InvalidAnswer`.
"""

from evaluator.errors import Infeasible, InvalidAnswer

__all__ = ["Infeasible", "InvalidAnswer"]
