"""The program to begin with: points on a slanted lattice. What stands between the markers may change."""

# EVOLVE-BLOCK-START
STEP = 0.3
SHIFT = 0.1
LOWEST = 0.2
HIGHEST = 0.8


def place(n):
    """n points [x, y] in the unit square."""
    points = []
    for i in range(n):
        x = (SHIFT + i * STEP) % 1.0
        y = LOWEST + (HIGHEST - LOWEST) * i / (n - 1)
        points.append([x, min(1.0, max(0.0, y))])
    return points
# EVOLVE-BLOCK-END
