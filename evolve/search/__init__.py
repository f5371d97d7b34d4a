"""Decisions of the search, as pure functions: parents, inspirations, patch kinds, when to stop, when to warn."""
