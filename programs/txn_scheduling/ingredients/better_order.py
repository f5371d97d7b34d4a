# role: shared
# why: every constructor, move and loop needs to know what an order costs, and the better of two
def cost_of(transactions, order, limit=float("inf")):
    """The makespan of an order, plus a share below 1 that grows with the mean start: it tells apart the many orders of
    one makespan. Infinite as soon as the makespan is beyond the limit."""
    access, write = {}, {}
    latest = total = 0
    for index in order:
        length, operations = transactions[index]
        start = 1
        for kind, key, position in operations:
            last = (access if kind == "w" else write).get(key, 0) - position + 2
            if last > start:
                start = last
        if start + length - 1 > latest:
            latest = start + length - 1
            if latest > limit:
                return float("inf")
        total += start
        for kind, key, position in operations:
            slot = start + position - 1
            if slot > access.get(key, 0):
                access[key] = slot
            if kind == "w" and slot > write.get(key, 0):
                write[key] = slot
    return latest + total / (1 + latest * len(order))


def better_order(transactions, first, second):
    """The one of two orders with the smaller cost; the first one of equals."""
    return second if cost_of(transactions, second) < cost_of(transactions, first) else first
