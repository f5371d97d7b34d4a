# role: loop
# why: a transaction that waits long, or that many wait for, often fits better somewhere else
# needs: settle, effort
# wire: result = reinsert_each(transactions, {result})
import random


def reinsert_each(transactions, order):
    """The order after random transactions, one after the other, were tried in their best places."""
    rng = random.Random(19)
    mirror = mirrored(transactions)
    tried = [rng.choice(order) for _ in range(turns(order, 2))]
    return settled(transactions, mirror, order, tried, rng)
