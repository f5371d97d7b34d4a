"""Remembers the room in each bin for the program, so that the judge needs to send only the next item's size."""

import operator


def begin(first):
    """Begin an instance with empty bins. The judge trusts nothing in here: it has bins of its own."""
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
