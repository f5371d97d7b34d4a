"""Result folders of other systems, read as typed values without running or loading anything of theirs."""
