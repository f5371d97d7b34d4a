"""Looking at what is recorded: plain values in, rows, chains, diffs and sentences out. Prints nothing."""
