"""Patches: applied to a program whole or not at all, and made from two versions of one.

    parse_patch    answer text -> Patch
    apply_patch    Patch, source -> new source
    make_patch     old source, new source -> answer text
    apply_to_files, make_files_patch    the same for the files of a program

All raise PatchError, whose `reason` is a PatchReason and whose message tells the model what to correct.
"""

from evolve.patch.apply import apply_patch, apply_to_files
from evolve.patch.format import Block, FileEdit, Patch, PatchReason, parse_patch
from evolve.patch.make import make_files_patch, make_patch

__all__ = [
    "Block",
    "FileEdit",
    "Patch",
    "PatchReason",
    "apply_patch",
    "apply_to_files",
    "make_files_patch",
    "make_patch",
    "parse_patch",
]
