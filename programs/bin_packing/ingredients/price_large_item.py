# role: price
# why: a large item should fill its bin, since few bins can take it, while a small one finds room anywhere
# wire: add to PRICES
LARGE_PRICE = 1.0


def price_large_item(left, size, crowd):
    """The room left over, the dearer the larger the item."""
    return LARGE_PRICE * left * size
