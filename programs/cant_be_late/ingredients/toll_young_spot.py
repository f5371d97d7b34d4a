# role: toll
# why: spot that has just come is gone again soon more often than spot that has stayed
# needs: lasted
# wire: add to TOLLS
YOUNG_TOLL = 1.0


def toll_young_spot(now):
    """A toll that falls in proportion to how long spot has been there."""
    return YOUNG_TOLL * now["overhead"] / lasted(now)
