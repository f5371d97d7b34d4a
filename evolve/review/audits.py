"""What the newest audit of a run says, for pages."""

from typing import Any

from evolve.archive.events import AuditedEvent, FallenData
from evolve.review.texts import time_text


def audit_json(audited: AuditedEvent | None) -> dict[str, Any] | None:
    """The audit in numbers and in a sentence: how many claims hold, fall and were not judged; None without one."""
    if audited is None:
        return None
    holds, falls, unjudged = len(audited.holds), len(audited.falls), len(audited.unjudged)
    text = f"audited on {time_text(audited.t)}: claims that hold {holds}, that fall {falls}, not judged {unjudged}"
    return {"t": audited.t, "holds": holds, "falls": falls, "unjudged": unjudged, "text": text}


def audited_text(audited: AuditedEvent | None, generation: int) -> str | None:
    """What the audit says of a generation, in a sentence; None where there was no audit since."""
    if audited is None:
        return None
    at = f"scored again on {time_text(audited.t)}"
    if generation in audited.holds:
        return f"holds: {at}"
    if generation in audited.unjudged:
        return f"could not be judged: {at}"
    fallen = next((each for each in audited.falls if each["generation"] == generation), None)
    return None if fallen is None else f"falls: {at}; {fallen['why']}"


def fallen_json(fallen: FallenData) -> dict[str, Any]:
    """A claim that fell, as columns of generations hold it."""
    return {"claimed": fallen["claimed"], "measured": fallen["measured"], "why": fallen["why"]}
