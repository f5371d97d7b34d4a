"""From a program's source to a verdict: tasks, suites, judging, and running untrusted code.

It knows nothing of evolution: `evolve` imports this package, never the other way round.
"""
