"""Running untrusted programs: a worker process forks one confined process for each candidate (see `supervisor`)."""
