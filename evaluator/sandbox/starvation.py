"""How long a process has waited for a core while it could have run: what tells a starved program from a sleeping one.

The kernel's own account (`/proc/PID/schedstat`, the second figure), which no program can write. Low CPU time alone
says nothing: a program that sleeps uses little of it, too.
"""


def waited_s(process_id: int) -> float:
    """Seconds that the process has stood in a queue for a core; 0 where the kernel does not say (a kernel without
    CONFIG_SCHED_INFO, /proc mounted with hidepid): there nobody is known to be starved."""
    return _account(process_id)[1]


def is_measured(process_id: int) -> bool:
    """Whether the kernel keeps an account of the process that this one may read."""
    return _account(process_id)[0] > 0


def _account(process_id: int) -> tuple[float, float]:
    """Seconds on a core and seconds in the queue for one."""
    try:
        with open(f"/proc/{process_id}/schedstat", "rb") as file:  # noqa: PTH123 (looked at while others wait)
            ran, waited, *_ = file.read(100).split()
        return int(ran) / 1e9, int(waited) / 1e9
    except (OSError, ValueError):
        return 0.0, 0.0
