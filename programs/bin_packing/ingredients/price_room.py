# role: price
# why: best fit: a bin that the item fills most leaves least room to lose
# wire: add to PRICES
ROOM_PRICE = 1.0


def price_room(left, size, crowd):
    """In proportion to the room left over."""
    return ROOM_PRICE * left
