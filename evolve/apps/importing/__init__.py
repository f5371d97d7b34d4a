"""Folders that were written for other systems, as tasks: what is taken over, what is not. Nothing of theirs is run."""
