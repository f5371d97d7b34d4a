# Send a signal to the worker.
# expect: ok
# stopped by: privileges, landlock, seccomp

import os

def attack():
    os.kill(os.getppid(), 0)
    return 'could'
