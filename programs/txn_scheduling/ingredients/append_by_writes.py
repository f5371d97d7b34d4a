# role: constructor
# why: of the transactions that can start equally early, the one with the most writes will only become harder to place
# needs: better_order, append_greedily
# wire: result = better_order(transactions, {result}, append_by_writes(transactions))
WRITE_WEIGHT = 0.5


def append_by_writes(transactions):
    """The transaction with the earliest start, less a share of its writes."""
    writes = [sum(kind == "w" for kind, _, _ in operations) for _, operations in transactions]
    return append_greedily(transactions, lambda start, index: start - WRITE_WEIGHT * writes[index])
