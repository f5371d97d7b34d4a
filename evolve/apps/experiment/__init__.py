"""Configurations x seeds at equal budgets: planned, run several at a time, gone on with, compared."""
