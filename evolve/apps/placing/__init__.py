"""A discovered program used on a real cluster: `evolve place`."""
