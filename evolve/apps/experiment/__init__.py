"""Experiments: configurations x seeds at equal budgets, planned, run in parallel, resumed, compared."""
