"""Proposing: who writes patches, and the offline proposer that does without a model."""
