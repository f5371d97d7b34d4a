"""From a program's source to a verdict: tasks, suites, judging, and running untrusted code. Knows nothing of evolution."""
