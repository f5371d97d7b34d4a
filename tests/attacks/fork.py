# Fork.
# expect: ok
# stopped by: limits, seccomp

import os

def attack():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return "forked"
