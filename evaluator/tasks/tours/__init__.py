"""Short tours through points of the plane, by programs in C: an example of a task in another language."""
