# role: constructor
# why: the best next transaction is often wrong in the long run, so several beginnings are kept side by side
# needs: better_order
# wire: result = better_order(transactions, {result}, beam(transactions))
BEAM_WIDTH = 40


def beam(transactions):
    """Append every transaction to every beginning that is kept, and keep those with the smallest sums of starts."""
    states = [(0, (), {}, {})]
    for _ in transactions:
        longer = []
        for number, (total, order, access, write) in enumerate(states):
            placed = set(order)
            for index, (_, operations) in enumerate(transactions):
                if index not in placed:
                    start = 1
                    for kind, key, position in operations:
                        last = (access if kind == "w" else write).get(key, 0) - position + 2
                        if last > start:
                            start = last
                    longer.append((total + start, start, number, index))
        kept, seen = [], set()
        for total, start, number, index in sorted(longer):
            _, order, access, write = states[number]
            members = frozenset((*order, index))
            if members not in seen and len(kept) < BEAM_WIDTH:
                seen.add(members)
                access, write = dict(access), dict(write)
                for kind, key, position in transactions[index][1]:
                    access[key] = max(start + position - 1, access.get(key, 0))
                    if kind == "w":
                        write[key] = max(start + position - 1, write.get(key, 0))
                kept.append((total, (*order, index), access, write))
        states = kept
    return min((list(order) for _, order, _, _ in states), key=lambda order: cost_of(transactions, order))
