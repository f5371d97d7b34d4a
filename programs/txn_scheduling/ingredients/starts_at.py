# role: shared
# why: one pass over an order tells when a transaction would start in each of its places
def starts_at(transactions, order, index):
    """The start of a transaction that is not in the order, for each place that it could be put in, the end included."""
    reads_from, writes_from = {}, {}
    for kind, key, position in transactions[index][1]:
        own = writes_from if kind == "w" else reads_from
        own[key] = min(position, own.get(key, position))
    access, write = {}, {}
    found = [1]
    for other in order:
        operations = transactions[other][1]
        start = 1
        for kind, key, position in operations:
            last = (access if kind == "w" else write).get(key, 0) - position + 2
            if last > start:
                start = last
        earliest = found[-1]
        for kind, key, position in operations:
            slot = start + position - 1
            if slot > access.get(key, 0):
                access[key] = slot
            if kind == "w" and slot > write.get(key, 0):
                write[key] = slot
            if key in writes_from and slot + 2 - writes_from[key] > earliest:
                earliest = slot + 2 - writes_from[key]
            if kind == "w" and key in reads_from and slot + 2 - reads_from[key] > earliest:
                earliest = slot + 2 - reads_from[key]
        found.append(earliest)
    return found
