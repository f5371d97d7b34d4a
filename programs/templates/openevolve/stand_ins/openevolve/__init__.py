"""Stands in for OpenEvolve where it is not installed: what evaluators import of it, and no more."""

from openevolve.evaluation_result import EvaluationResult

__all__ = ["EvaluationResult"]
