"""The transactions in the order in which they are given."""


# EVOLVE-BLOCK-START
def schedule(transactions):
    """Return a permutation of the indices of the transactions."""
    return list(range(len(transactions)))
# EVOLVE-BLOCK-END
