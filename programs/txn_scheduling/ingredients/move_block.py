# role: neighbourhood
# why: transactions that fit together well move together
# wire: add to MOVES
def move_block(order, rng):
    """The order with a short run of transactions in a random place (or-opt)."""
    begin = rng.randrange(len(order))
    block = order[begin : begin + rng.randint(2, 5)]
    rest = order[:begin] + order[begin + len(block) :]
    place = rng.randint(0, len(rest))
    return rest[:place] + block + rest[place:]
