"""Schedules transactions by how much they write, the most first."""


# EVOLVE-BLOCK-START
def schedule(transactions):
    """Return a permutation of the indices of the transactions, placed one after another."""

    def writes(index):
        return sum(kind == "w" for kind, key, position in transactions[index][1])

    order = sorted(range(len(transactions)), key=writes, reverse=True)
    return order
# EVOLVE-BLOCK-END
