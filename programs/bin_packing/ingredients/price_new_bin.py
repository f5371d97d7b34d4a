# role: price
# why: a bin opened early may serve many items, or none: what it costs to open one decides how readily
# wire: add to PRICES
OPENING_PRICE = 1.0


def price_new_bin(left, size, crowd):
    """A fixed price for an item that would lie in its bin alone."""
    return OPENING_PRICE if left + size > 1 - 1e-9 else 0.0
