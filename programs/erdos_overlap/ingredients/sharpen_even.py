# role: sharpening
# why: most of the descent is done at a high sharpness when it grows evenly
# wire: set SHARPEN
SHARPENED_EVENLY = 100.0


def sharpen_even(first, progress):
    """From `first` to SHARPENED_EVENLY times as much, by equal amounts."""
    return first * (1 + (SHARPENED_EVENLY - 1) * progress)
