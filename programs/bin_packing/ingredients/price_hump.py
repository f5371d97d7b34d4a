# role: price
# why: how bad a room is rises to a worst one and falls again, with no step between two neighbours
# wire: add to PRICES
WORST_ROOM = 0.1
HUMP_WIDTH = 0.1
HUMP_PRICE = 1.0


def price_hump(left, size, crowd):
    """A triangle around the room that is worst to leave."""
    return HUMP_PRICE * max(0.0, 1 - abs(left - WORST_ROOM) / HUMP_WIDTH)
