"""The pages of runs: one document of plain values feeds the report, the live page and the terminal."""
