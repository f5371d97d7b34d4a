"""The transaction scheduling task: judge, adapter, recipe, suites and their bounds."""
