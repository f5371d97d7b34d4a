"""1 / sqrt(x), whose autoconvolution is flat over half of its interval: C tends to pi / 2 (Schinzel and Schmidt 2002).

As steps: the coefficients of (1 - x)^(-1/2), whose square is 1 + x + x^2 + ..., so that the first n sums are all 1.
"""


# EVOLVE-BLOCK-START
def heights(max_n):
    """Return max_n heights: the binomial coefficients (2i over i) / 4^i."""
    f = [1.0]
    for i in range(1, max_n):
        f.append(f[-1] * (2 * i - 1) / (2 * i))
    return f
# EVOLVE-BLOCK-END
