"""Takes the points in some order, each that makes no line of three."""

# EVOLVE-BLOCK-START
SLANT = 1
STEP = 1


def choose(n):
    """A list of points [column, row] of the n x n grid."""
    chosen = []
    for k in range(n * n):
        i = k * STEP % (n * n)
        x, y = (i + SLANT * (i // n)) % n, i // n
        if [x, y] not in chosen and not any(
            (b[0] - a[0]) * (y - a[1]) == (x - a[0]) * (b[1] - a[1])
            for index, a in enumerate(chosen)
            for b in chosen[:index]
        ):
            chosen.append([x, y])
    return chosen
# EVOLVE-BLOCK-END
