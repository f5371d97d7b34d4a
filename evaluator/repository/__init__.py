"""Tasks out of a repository: a program is its files that may change; tests are the gate, a benchmark the score."""
