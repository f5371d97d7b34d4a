# Fork until refused.
# expect: ok
# stopped by: limits, seccomp

import os
import signal

def attack():
    children = []
    try:
        for _ in range(20):
            pid = os.fork()
            if pid == 0:
                signal.pause()
            children.append(pid)
    except OSError:
        pass
    for pid in children:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return f"{len(children)} children" if children else None
