"""The judge: it owns the bins and asks item by item. It runs outside the program's process, and believes nothing."""

from evaluator import Infeasible, InvalidAnswer

CAPACITY = 100


def converse(instance):
    """One instance: yield what is asked next, get the answer to it, and return the verdict, here how many bins.

    What is yielded goes to the program at once, and nothing of what is to come does: yield what is new and no more.
    Check each answer for everything: it may be any JSON value. InvalidAnswer says that it is none at all, Infeasible
    that it breaks a rule; the words reach whoever writes the next program.
    """
    capacity, room = instance["capacity"], []
    for number, size in enumerate(instance["sizes"]):
        chosen = yield {"capacity": capacity, "size": size} if number == 0 else {"size": size}
        if type(chosen) is not int or not 0 <= chosen <= len(room):
            raise InvalidAnswer(f"the answer must be an index from 0 to {len(room)}")
        if chosen == len(room):
            room.append(capacity)
        room[chosen] -= size
        if room[chosen] < 0:
            raise Infeasible(f"bin {chosen} has no room for an item of size {size}")
    return len(room)


def describe(instance):
    """A few words for messages."""
    return f"{len(instance['sizes'])} items"


def draw_instance(rng, suite):
    """The recipe: a new instance, of a random.Random alone. `evolve score --fresh` and the end of a run draw from it."""
    return {"capacity": CAPACITY, "sizes": [rng.randint(10, 70) for _ in range(60)]}
