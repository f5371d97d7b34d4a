"""The known words nearest to a misspelt one."""

from nearby.distance import distance
from nearby.search import nearest

__all__ = ["distance", "nearest"]
