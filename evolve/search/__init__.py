"""The search: its state (a population), its decisions as pure functions, its strategies, when to stop and to warn."""
