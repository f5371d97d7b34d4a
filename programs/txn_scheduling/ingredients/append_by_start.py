# role: constructor
# why: appending the transaction that can start first leaves the fewest slots unused
# needs: better_order, append_greedily
# wire: result = better_order(transactions, {result}, append_by_start(transactions))
def append_by_start(transactions):
    """Always the transaction that can start first."""
    return append_greedily(transactions, lambda start, index: start)
