# role: shared
# why: greedy constructors differ only in how they rate the transaction to append next
def append_greedily(transactions, rate):
    """An order in which every transaction is the one with the smallest rate(start, index) of those left."""
    access, write, order = {}, {}, []
    left = list(range(len(transactions)))
    while left:
        rated = []
        for index in left:
            start = 1
            for kind, key, position in transactions[index][1]:
                start = max(start, (access if kind == "w" else write).get(key, 0) - position + 2)
            rated.append((rate(start, index), index, start))
        _, chosen, start = min(rated)
        left.remove(chosen)
        order.append(chosen)
        for kind, key, position in transactions[chosen][1]:
            slot = start + position - 1
            access[key] = max(slot, access.get(key, 0))
            if kind == "w":
                write[key] = max(slot, write.get(key, 0))
    return order
