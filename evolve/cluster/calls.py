"""The function that a call names. Scheduler and worker import this module, so it loads nothing but itself."""


def call(function: str, text: str) -> tuple[bool, str]:
    """Call a function of the worker's process: whether it succeeded, and its result or the reason."""
    from evolve.cluster.serving import DESK

    return DESK.call(function, text)
