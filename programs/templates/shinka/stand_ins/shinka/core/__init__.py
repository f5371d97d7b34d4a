"""The part that evaluators use."""

from shinka.core.wrap_eval import run_shinka_eval

__all__ = ["run_shinka_eval"]
