"""Nothing says which part of this may change, so all of it may."""

LEFT = 3.0
RIGHT = 4.0


def pair():
    """Two numbers."""
    return LEFT, RIGHT
