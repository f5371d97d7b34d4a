"""Greedy: always the transaction that can start first, given those that are placed; the first of equals."""


# EVOLVE-BLOCK-START
def schedule(transactions):
    """Return a permutation of the indices of the transactions."""
    access, write = {}, {}
    left = list(range(len(transactions)))
    order = []
    while left:
        best, earliest = None, float("inf")
        for index in left:
            start = 1
            for kind, key, position in transactions[index][1]:
                last = (access if kind == "w" else write).get(key, 0)
                start = max(start, last - position + 2)
            if start < earliest:
                best, earliest = index, start
        left.remove(best)
        order.append(best)
        for kind, key, position in transactions[best][1]:
            slot = earliest + position - 1
            access[key] = max(access.get(key, 0), slot)
            if kind == "w":
                write[key] = max(write.get(key, 0), slot)
    return order
# EVOLVE-BLOCK-END
