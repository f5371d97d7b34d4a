# Fork twice and stay behind, holding every descriptor.
# expect: ok
# stopped by: limits, seccomp

import os
import time

def attack():
    pid = os.fork()
    if pid == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1)
        os._exit(0)
    os.waitpid(pid, 0)
    return "stayed behind"
