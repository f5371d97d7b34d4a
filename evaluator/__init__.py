"""From a program's source to a verdict: tasks, suites, judging, and running untrusted code.

It knows nothing of evolution: `evolve` imports this package, never the other way round. What a task's own `judge.py`
needs of it is here: `from evaluator import Infeasible, InvalidAnswer`.
"""

from evaluator.errors import Infeasible, InvalidAnswer

__all__ = ["Infeasible", "InvalidAnswer"]
