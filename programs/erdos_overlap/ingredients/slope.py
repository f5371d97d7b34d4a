# role: shared
# why: a maximum has no useful slope, while a mean of the largest overlaps, weighted by their size, has one
# needs: overlaps
def slope(h, sharpness):
    """The slope of the softened maximum in every height, without the part that changes all heights alike.

    The overlaps are weighted by exp(sharpness * (overlap / largest - 1)): the larger the sharpness is, the fewer count.
    """
    all_shifts = overlaps(h)
    weights = np.exp(sharpness * (all_shifts / all_shifts.max() - 1))
    spectrum = np.fft.rfft(weights / weights.sum())
    rising = np.fft.irfft(np.conj(spectrum) * transformed(1 - h, len(h)))[: len(h)]
    falling = np.fft.irfft(spectrum * transformed(h, len(h)))[: len(h)]
    slopes = rising - falling
    return slopes - slopes.mean()
