# role: shared
# why: the fast Fourier transform makes the overlaps of all shifts in n log n
def transformed(values, count):
    """The spectrum of `values`, long enough for the shifts of `count` heights."""
    return np.fft.rfft(values, 1 << (2 * count - 1).bit_length())


def overlaps(h):
    """The overlap for shifts 0, 1, 2, ... by whole pieces; negative shifts count back from the end."""
    return np.fft.irfft(np.conj(transformed(h, len(h))) * transformed(1 - h, len(h))) * 2 / len(h)


def overlap(h):
    """The largest overlap of heights with a mean of 1/2, as the judge computes it but for rounding."""
    return overlaps(h).max()
