"""Step functions that overlap little with their complement, however they are shifted: Erdos's minimum overlap."""
