# role: loop
# why: a price for the room that would be left in a bin, the sum of several rules, can say more than which bin is first
# slots: PRICES = ()
# wants: PRICES
# wire: result = cheapest_room({result}, item, capacity, free)
from collections import Counter


def cheapest_room(chosen, item, capacity, free):
    """The oldest bin of those whose room after the item is cheapest, a new bin among them; as chosen without prices.

    A price is a function of the room left over and the item, both as shares of the capacity, and of the crowd: how many
    bins have just that room already, as a share of the largest such number.
    """
    if not PRICES:
        return chosen
    alike = Counter(free)
    del alike[0]  # full bins are no crowd
    largest = max(alike.values(), default=1)
    cheapest, least = capacity, float("inf")
    size = item / capacity
    for room in sorted({*alike, capacity}):
        if room >= item:
            left = (room - item) / capacity
            total = sum([price(left, size, alike[room - item] / largest) for price in PRICES])
            if total < least:
                cheapest, least = room, total
    return free.index(cheapest) if cheapest in alike else -1
