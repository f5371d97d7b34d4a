"""Moments and durations as they are shown."""

import time


def time_text(seconds: float) -> str:
    """A moment, given in wall seconds, as the local date and time to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def duration_text(seconds: float) -> str:
    """A duration as minutes and seconds, or hours, minutes and seconds."""
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d}"
    return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
