"""Tasks of other systems, converted: what is taken over and what is not. None of their code is run."""
