"""The judge: it owns the bins and asks item by item. It runs outside the program's process and trusts no answer."""

from evaluator import Infeasible, InvalidAnswer

CAPACITY = 100


def converse(instance):
    """Run one instance: yield a question, receive its answer, and return the verdict at the end: the number of bins.

    The program gets each question at once, and nothing of later ones: yield only what is new. Check each answer
    completely, since it may be any JSON value. Raise InvalidAnswer for a wrong type or shape, Infeasible for a broken
    rule; the author of the next program reads the text.
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
    """The recipe: a new instance from a random.Random, for `evolve score --fresh` and the check at the end of a run."""
    return {"capacity": CAPACITY, "sizes": [rng.randint(10, 70) for _ in range(60)]}
