"""Circles in the unit square, the sum of their radii as large as possible."""
