# Read how much CPU time another process has used, or count the processes that there were.
# expect: ok
# stopped by: seccomp

import os, time

def attack():
    for pid in (os.getppid(), os.getpid() + 1, os.getpid() - 1, 1, 2, 3):
        try:
            if pid > 0 and time.clock_gettime((~pid << 3) | 2):
                return f"the clock of process {pid}"
        except OSError:
            pass
    if os.getpid() or os.getppid():
        return "a process number"
