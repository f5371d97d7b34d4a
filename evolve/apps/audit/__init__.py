"""Audits: every claim of a run, a result folder or an answer file, scored again."""
