"""A guess that is far off; patches add steps towards the number."""

# EVOLVE-BLOCK-START
OFFSET = 60
# next


def guess(n):
    return n + OFFSET
# EVOLVE-BLOCK-END
