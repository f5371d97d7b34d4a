"""What judges the programs of a run: its evaluators, where it begins, gains elsewhere, scoring again."""
