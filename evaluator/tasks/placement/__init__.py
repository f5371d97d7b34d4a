"""Placing models on GPUs so that the worst KV-cache pressure is smallest: the built-in task."""
