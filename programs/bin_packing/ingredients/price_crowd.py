# role: price
# why: different rooms can take whatever comes, while many that are alike wait for one item (as in the sum of squares)
# wire: add to PRICES
CROWD_PRICE = 1.0


def price_crowd(left, size, crowd):
    """In proportion to how many bins have that room already; an item alone in its bin counts as the largest crowd."""
    return CROWD_PRICE * (1 if left + size > 1 - 1e-9 else crowd)
