"""Rings: a circle in the middle, 8 around it, 16 around those, and the radii shrunk until nothing overlaps."""

import math


# EVOLVE-BLOCK-START
INNER = 0.3
OUTER = 0.7
MARGIN = 0.01


def ring_centres(n):
    """The middle, 8 centres at distance INNER and 16 at OUTER, pulled into the square; the rest in the corner."""
    points = [(0.5, 0.5)]
    for count, distance in ((8, INNER), (16, OUTER)):
        for k in range(count):
            angle = 2 * math.pi * k / count
            points.append((0.5 + distance * math.cos(angle), 0.5 + distance * math.sin(angle)))
    points = (points + [(0.0, 0.0)] * n)[:n]
    return [tuple(min(max(c, MARGIN), 1 - MARGIN) for c in point) for point in points]


def shrunk_radii(centres):
    """Radii that reach the nearest side, and every pair that overlaps scaled down in turn."""
    radii = [min(x, y, 1 - x, 1 - y) for x, y in centres]
    for i in range(len(centres)):
        for j in range(i + 1, len(centres)):
            distance = math.dist(centres[i], centres[j])
            if radii[i] + radii[j] > distance:
                scale = distance / (radii[i] + radii[j])
                radii[i] *= scale
                radii[j] *= scale
    return radii


def pack(n):
    """Return n circles [(x, y, r), ...] in the unit square that do not overlap."""
    centres = ring_centres(n)
    packing = [(x, y, r) for (x, y), r in zip(centres, shrunk_radii(centres))]
    return packing
# EVOLVE-BLOCK-END
