# role: price
# why: room for less than some part of an item like this one is unlikely to be filled by the next ones
# wire: add to PRICES
ITEM_PART = 1.0
LESS_PRICE = 1.0


def price_less_than_item(left, size, crowd):
    """A fixed price where the room left over is less than a part of the item."""
    return LESS_PRICE if 0 < left < ITEM_PART * size else 0.0
