"""What the run so far says about an edit: how often the like of it gained, and whether this parent has had it."""

from collections import Counter

from evolve.patch.features import MAX_FEATURES, features
from evolve.proposal import Request
from evolve.propose.offline.ingredients import Ingredient


class Experience:
    """Counted over the changes that a request tells of, and nothing else: the same request, the same experience."""

    def __init__(self, request: Request) -> None:
        self._seen: Counter[str] = Counter()
        self._gained: Counter[str] = Counter()
        self._of_parent: set[tuple[str, ...]] = set()
        for change in request.changes:
            self._seen.update(change.features)
            if change.gained:
                self._gained.update(change.features)
            # Of a large change the first features are known, which say nothing of the others.
            if change.parent == request.parent.program.commit and 0 < len(change.features) < MAX_FEATURES:
                self._of_parent.add(change.features)

    def weight(self, feature: str) -> float:
        """How likely a change is to be tried, against others: the share of its programs that gained, by Laplace's rule
        of succession. One that was never tried stands in the middle, so that none is ever lost from sight."""
        return (self._gained[feature] + 1) / (self._seen[feature] + 2)

    def of(self, ingredient: Ingredient) -> float:
        """The weight of putting an ingredient in."""
        return self.weight(f"add {ingredient.main}")

    def had(self, parent: str, source: str) -> bool:
        """Whether a program that differs from this parent's source in the same things was made of it before."""
        return bool(self._of_parent) and features(parent, source) in self._of_parent
