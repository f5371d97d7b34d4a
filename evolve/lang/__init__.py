"""Programming languages: a table of what is known of each, and reading source text."""
