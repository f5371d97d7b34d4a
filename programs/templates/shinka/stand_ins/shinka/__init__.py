"""Stands in for ShinkaEvolve where it is not installed: what evaluators import of it, and no more."""
