# role: price
# why: much room costs more than twice half of it, so that rooms near nothing are told apart less
# wire: add to PRICES
SQUARE_PRICE = 1.0


def price_room_squared(left, size, crowd):
    """The square of the room left over."""
    return SQUARE_PRICE * left * left
