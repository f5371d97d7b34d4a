"""The numbers of a program, searched in the sandbox: which they are, the optimiser, and a search from end to end."""
