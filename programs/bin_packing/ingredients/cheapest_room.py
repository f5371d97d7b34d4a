# role: loop
# why: a price for the room that would be left in a bin, the sum of several rules, can say more than which bin is first
# slots: PRICES = ()
# wants: PRICES
# wire: result = cheapest_room({result}, item, capacity, free)
def cheapest_room(chosen, item, capacity, free):
    """The oldest bin of those whose room after the item is cheapest, a new bin among them; as chosen without prices.

    A price is a function of the room left over and the item, both as shares of the capacity.
    """
    if not PRICES:
        return chosen
    cheapest, least = capacity, float("inf")
    size = item / capacity
    for room in sorted({*free, capacity}):
        if room >= item:
            left = (room - item) / capacity
            total = sum([price(left, size) for price in PRICES])
            if total < least:
                cheapest, least = room, total
    return free.index(cheapest) if cheapest in free else -1
