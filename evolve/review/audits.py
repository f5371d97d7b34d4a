"""What the newest audit of a run says, for pages."""

from typing import Any

from evolve.archive.events import AuditedEvent, FallenData
from evolve.archive.reader import RunReader
from evolve.review.texts import time_text
from evolve.trust import own_audit


def audit_json(archive: RunReader) -> dict[str, Any] | None:
    """The audit in numbers and in a sentence: how many claims hold, fall and were not judged; None without one. Of an
    audit that was not made here, only a sentence says that it is there."""
    if archive.audited is None:
        return None
    at = time_text(archive.audited.t)
    audited = own_audit(archive)
    if audited is None:
        text = f"audited on {at}, but not by you on this machine: the verdicts are not shown"
        return {"t": archive.audited.t, "holds": None, "falls": None, "unjudged": None, "text": text}
    holds, falls, unjudged = len(audited.holds), len(audited.falls), len(audited.unjudged)
    text = f"audited on {at}: claims that hold {holds}, that fall {falls}, not judged {unjudged}"
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
