"""Tasks out of a repository: `evolve new --from-repo`, and what comes back as a patch."""
