# role: shared
# why: an order in which no transaction alone fits better anywhere else is found fastest by trying them one by one
# needs: better_order, best_place
def settled(transactions, mirror, order, tried, rng):
    """The order after each of the transactions tried, in turn, was put in its best place, unless that costs more."""
    cost = cost_of(transactions, order)
    for index in tried:
        rest = [other for other in order if other != index]
        changed = with_best_place(transactions, mirror, rest, index, rng)
        new = cost_of(transactions, changed, cost)
        if new <= cost:
            order, cost = changed, new
    return order
