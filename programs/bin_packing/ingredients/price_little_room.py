# role: price
# why: room that is too little for any item is lost, while a bin filled to the brim loses nothing
# wire: add to PRICES
LITTLE_ROOM = 0.1
LITTLE_PRICE = 1.0


def price_little_room(left, size, crowd):
    """A fixed price where a little room is left over, but not where none is."""
    return LITTLE_PRICE if 0 < left < LITTLE_ROOM else 0.0
