"""What judges the programs of a run: its evaluators, where it begins, racing, gains elsewhere, scoring again."""
