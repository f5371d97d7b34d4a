# Make a hard link, a symbolic link, a FIFO.
# expect: ok
# stopped by: landlock, seccomp

import os

def attack():
    for make in (
        lambda: os.symlink("@DIR@/canary", "@DIR@/soft"),
        lambda: os.link("@DIR@/canary", "@DIR@/hard"),
        lambda: os.mkfifo("@DIR@/fifo"),
    ):
        try:
            make()
        except OSError:
            continue
        return "made"
