# role: price
# why: worst fit: what is left in the emptiest bin still takes many items
# wire: add to PRICES
EMPTINESS_PRICE = 1.0


def price_emptiness(left, size, crowd):
    """The less, the more room is left over."""
    return EMPTINESS_PRICE * (1 - left)
