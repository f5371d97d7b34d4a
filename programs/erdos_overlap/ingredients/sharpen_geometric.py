# role: sharpening
# why: few overlaps count at the end, when they are nearly equal, and many at first
# wire: set SHARPEN
SHARPENED = 100.0


def sharpen_geometric(first, progress):
    """From `first` to SHARPENED times as much, by equal factors."""
    return first * SHARPENED**progress
