# Change its own scheduling.
# expect: ok
# stopped by: seccomp

import os

def attack():
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    return 'moved'
