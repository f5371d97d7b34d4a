"""Evolve: LLM-driven algorithm discovery whose scores can be believed."""

__version__ = "0.1.0"
