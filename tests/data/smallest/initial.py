# EVOLVE-BLOCK-START
def smallest(items):
    return items.index(min(items))
# EVOLVE-BLOCK-END
