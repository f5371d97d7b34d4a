# Send a signal to every process.
# expect: ok
# stopped by: landlock, seccomp
# needs: unprivileged

import os

def attack():
    me, reached = os.getpid(), []
    for pid in range(2, 400):
        if pid != me:
            try:
                os.kill(pid, 0)
            except OSError as refusal:
                if refusal.errno == 1:
                    continue
            else:
                reached.append(pid)
    return str(reached) if reached else None
