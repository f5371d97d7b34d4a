# role: price
# why: a sliver is a small loss and much room is useful; what lies between is too much to lose and too little to use
# wire: add to PRICES
SLIVER = 0.1
USEFUL_ROOM = 0.2
MIDDLING_PRICE = 1.0


def price_middling_room(left, size, crowd):
    """A fixed price where more than a sliver is left over, and less than is useful."""
    return MIDDLING_PRICE if SLIVER < left < USEFUL_ROOM else 0.0
