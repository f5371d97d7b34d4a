# role: shared
# why: the fast Fourier transform makes every sum of the autoconvolution in n log n
def transformed(values, count):
    """The spectrum of `values`, long enough for the autoconvolution of `count` heights."""
    return np.fft.rfft(values, 1 << (2 * count - 1).bit_length())


def autoconvolution(f):
    """The sums (f*f)_k for k = 0 .. 2n - 2."""
    spectrum = transformed(f, len(f))
    return np.fft.irfft(spectrum * spectrum)[: 2 * len(f) - 1]


def constant(f):
    """C of heights, as the judge computes it but for rounding."""
    return 2 * len(f) * autoconvolution(f).max() / f.sum() ** 2
