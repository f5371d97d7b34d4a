# role: shared
# why: what a transaction waits for and what waits for it are known for all of its places after two passes
# needs: starts_at
def mirrored(transactions):
    """The transactions backwards in time: what they wait for in an order reversed is what waits for them."""
    return [
        (length, [(kind, key, length + 1 - position) for kind, key, position in operations])
        for length, operations in transactions
    ]


def with_best_place(transactions, mirror, order, index, rng):
    """The order with a transaction where the longest chain of waiting through it is shortest; any one of equals."""
    before = starts_at(transactions, order, index)
    after = starts_at(mirror, order[::-1], index)[::-1]
    chains = [start + rest for start, rest in zip(before, after)]
    shortest = min(chains)
    place = rng.choice([number for number, chain in enumerate(chains) if chain == shortest])
    return [*order[:place], index, *order[place:]]
