"""What a script tries in a sandbox of process trees: nothing gets through, and without the sandbox it would."""

from trees import at_both_levels, by_both_users, elsewhere

# What is not there to be reached, with or without layers: the environment and the descriptors are made by the harness.
_NEVER = {"a secret in the environment", "inherited descriptors"}
# What an ordinary user may not do anyway.
_ROOTS = {
    "capabilities",
    "capabilities after exec",
    "a mount",
    "chown the program",
    "become another user",
    "a handle of a file",
    "kernel log",
    "userfaultfd",
    "vsock",
    "a new user namespace",
    "a clone in a user namespace",
    "a performance counter",
    "the environment of tree_init",
    "read the parent's memory",
    "list the root",
    "IPv6",
    "io_uring",  # without memory that may be locked
}


@by_both_users
@at_both_levels
def test_nothing_gets_through_and_nothing_is_changed(level: str, user: int) -> None:
    report = elsewhere(user, "range.py", level)
    assert report["uid"] == user
    assert report["outcome"] == "ok", report  # it has tried to stop, and to kill, what stands around it
    assert len(report["found"]) > 65
    assert [name for name, through in report["found"].items() if through] == []
    assert report["arrived"] == []
    assert report["untouched"] is True


@by_both_users
def test_without_a_sandbox_it_would(user: int) -> None:
    """Every attempt works where no layer stops it: each can fail."""
    report = elsewhere(user, "range.py", "none")
    stopped = {name for name, through in report["found"].items() if not through}
    assert stopped <= (_NEVER | (_ROOTS if user else set()))
    assert set(report["arrived"]) == {"tcp", "udp", "abstract", "pathname"}
    assert report["untouched"] is False
