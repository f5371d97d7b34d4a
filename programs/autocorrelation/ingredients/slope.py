# role: shared
# why: a maximum has no useful slope, while a mean of the largest sums, weighted by their size, has one
# needs: convolution
def slope(f, sharpness):
    """The slope of log C in every height, for a mean height of 1.

    The maximum is softened: the sums are weighted by exp(sharpness * (sum / largest - 1)), so that the larger the
    sharpness is, the fewer of them count.
    """
    spectrum = transformed(f, len(f))
    sums = np.fft.irfft(spectrum * spectrum)[: 2 * len(f) - 1]
    largest = sums.max()
    weights = np.exp(sharpness * (sums / largest - 1))
    weights /= weights.sum()
    back = np.fft.irfft(transformed(weights, len(f)) * np.conj(spectrum))[: len(f)]
    return 2 * (back / largest - 1 / f.sum()) * len(f)
