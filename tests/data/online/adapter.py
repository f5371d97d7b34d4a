"""Keeps the room in each bin beside the program, so that the judge need send nothing but the next item's size."""

import operator


def begin(first):
    """A new instance, with nothing in any bin. Nothing in here is believed: the judge has bins of its own."""
    capacity = first["capacity"]
    room = []

    def prepare(asked):
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
