# role: price
# why: harmonic classes: room for k items of some size, but not for k + 1, is best used by items of that class
# wire: add to PRICES
CLASS_PRICE = 1.0
CLASSES = 10


def price_class(left, size, crowd):
    """How many classes the room before the item lies from that of the item, where class k holds 1/(k+1) .. 1/k."""
    item_class = min(CLASSES, int(1 / size))
    room_class = min(CLASSES, int(1 / (left + size)))
    return CLASS_PRICE * abs(item_class - room_class)
