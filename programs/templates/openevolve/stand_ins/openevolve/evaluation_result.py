"""What an evaluator returns where it has more to say than numbers."""

from dataclasses import dataclass, field


@dataclass
class EvaluationResult:
    """Numbers by name, and texts or bytes by name."""

    metrics: dict
    artifacts: dict = field(default_factory=dict)

    @classmethod
    def from_dict(cls, metrics):
        """A result without artifacts."""
        return cls(metrics)

    def to_dict(self):
        """The metrics alone."""
        return self.metrics

    def has_artifacts(self):
        """Whether there are any artifacts."""
        return len(self.artifacts) > 0

    def get_artifact_keys(self):
        """The names of the artifacts."""
        return [*self.artifacts]

    def get_artifact_size(self, key):
        """The size of an artifact in bytes, 0 where there is none of that name."""
        value = self.artifacts.get(key, b"")
        return len(value if isinstance(value, bytes) else str(value).encode("utf-8"))

    def get_total_artifact_size(self):
        """The size of all artifacts in bytes."""
        return sum(map(self.get_artifact_size, self.artifacts))
