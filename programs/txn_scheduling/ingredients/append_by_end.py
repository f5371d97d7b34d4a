# role: constructor
# why: appending the transaction with the least resulting makespan keeps the end of the schedule low at every step
# needs: better_order, append_greedily
# wire: result = better_order(transactions, {result}, append_by_end(transactions))
def append_by_end(transactions):
    """Always the transaction that would end first."""
    return append_greedily(transactions, lambda start, index: start + transactions[index][0])
