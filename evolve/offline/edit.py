"""What the offline proposer makes: a new source, and what to call the change."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A new source, with a name for the change (words joined by underscores) and the reason for it."""

    source: str
    name: str
    description: str


def both(edit: Edit, more: Edit) -> Edit:
    """Two edits as one, the second of which was made of the first one's source."""
    return Edit(
        source=more.source,
        name=f"{edit.name}_and_{more.name}",
        description=f"{edit.description}; {more.description}",
    )
