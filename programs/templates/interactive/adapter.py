"""Runs in the program's process and remembers what the program needs of the past. The judge trusts nothing in here."""

import operator


def begin(first):
    """Begin an instance; `first` is the judge's first question. The state here is new for each instance."""
    capacity = first["capacity"]
    room = []

    def prepare(asked):
        """For each item: the arguments of the entry point, and a function that encodes its result as JSON."""
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
