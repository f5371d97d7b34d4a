# role: constructor
# why: long transactions that start late end last, so they go first wherever that delays nothing much
# needs: better_order, append_greedily
# wire: result = better_order(transactions, {result}, append_longest(transactions))
LENGTH_WEIGHT = 1.0


def append_longest(transactions):
    """The transaction with the earliest start, less a share of its length."""
    return append_greedily(transactions, lambda start, index: start - LENGTH_WEIGHT * transactions[index][0])
