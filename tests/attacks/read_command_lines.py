# Read the command lines of other processes.
# expect: ok
# stopped by: landlock, seccomp

import os

def attack():
    return open(f'/proc/{os.getppid()}/cmdline').read()
