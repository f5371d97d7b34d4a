"""What a run has learnt: evidence counted by code, and the documents that put it into words for prompts."""
