"""Commits as they are shown: long enough to mean one program, and never to be read as a generation."""

from collections.abc import Iterable
from itertools import pairwise
from os.path import commonprefix

SHORT = 8


def short_commits(commits: Iterable[str]) -> dict[str, str]:
    """For each commit, its first letters: at least `SHORT`, as many as it takes to hold a letter that is no digit (a
    number is a generation), and to be the beginning of no other."""
    ordered = sorted(set(commits))
    shared = [len(commonprefix(pair)) for pair in pairwise(ordered)]  # noqa: RUF071 # letters are meant
    short = {}
    for index, commit in enumerate(ordered):
        length = max(SHORT, *(1 + n for n in shared[max(0, index - 1) : index + 1]), 1)
        while length < len(commit) and commit[:length].isdigit():
            length += 1
        short[commit] = commit[:length]
    return short
