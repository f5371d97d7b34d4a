"""Online bin packing: the judge owns the bins, and asks for one item at a time. The cost is the number of bins."""

from evaluator import Infeasible, InvalidAnswer


def converse(instance):
    """Ask where each item goes: the index of a bin, the next unused one for a new bin."""
    room = []
    for number, size in enumerate(instance["sizes"]):
        chosen = yield {"capacity": instance["capacity"], "size": size} if number == 0 else {"size": size}
        if type(chosen) is not int or not 0 <= chosen <= len(room):
            raise InvalidAnswer(f"the answer must be an index from 0 to {len(room)}")
        if chosen == len(room):
            room.append(instance["capacity"])
        room[chosen] -= size
        if room[chosen] < 0:
            raise Infeasible(f"bin {chosen} has no room for an item of size {size}")
    return len(room)


def describe(instance):
    """How many items there are."""
    return f"{len(instance['sizes'])} items"
