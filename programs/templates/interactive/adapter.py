"""Beside the program, in its process: it remembers what the program needs of the past. Nothing in here is believed."""

import operator


def begin(first):
    """A new instance; `first` is the first thing that the judge asks. What is kept here is new for each instance."""
    capacity = first["capacity"]
    room = []

    def prepare(asked):
        """For each item: what the entry point is called with, and what makes JSON of its result."""
        size = asked["size"]

        def encode(result):
            chosen = operator.index(result)
            if not 0 <= chosen <= len(room):
                raise ValueError(f"{chosen} is no bin: there are {len(room)}, and {len(room)} means a new one")
            if chosen == len(room):
                room.append(capacity)
            room[chosen] -= size
            return chosen

        return (size, list(room), capacity), encode

    return prepare
