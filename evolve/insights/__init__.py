"""What a run has learned: evidence counted by code, reports, recommendations and their outcomes."""
