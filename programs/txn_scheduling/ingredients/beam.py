# role: constructor
# why: the best next transaction is often wrong in the long run, so several beginnings are kept side by side
# needs: better_order, waits
# wire: result = better_order(transactions, {result}, beam(transactions))
BEAM_WIDTH = 40


def beam(transactions):
    """Append every transaction to every beginning that is kept, and keep those with the smallest sums of starts."""
    table = waits(transactions)
    states = [(0, (), 0, [1] * len(transactions))]
    for _ in transactions:
        longer = [
            (total + start, start, number, index)
            for number, (total, _, placed, earliest) in enumerate(states)
            for index, start in enumerate(earliest)
            if not placed >> index & 1
        ]
        kept, seen = [], set()
        for total, start, number, index in sorted(longer):
            _, order, placed, earliest = states[number]
            placed |= 1 << index
            if placed not in seen:
                seen.add(placed)
                earliest = [max(old, start + wait) for old, wait in zip(earliest, table[index])]
                kept.append((total, (*order, index), placed, earliest))
                if len(kept) == BEAM_WIDTH:
                    break
        states = kept
    return min((list(order) for _, order, _, _ in states), key=lambda order: cost_of(transactions, order))
