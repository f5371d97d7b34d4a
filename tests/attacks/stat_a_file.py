# Learn that a file exists, and how large it is.
# expect: ok
# stopped by: seccomp

import os

def attack():
    return os.stat('@DIR@/canary').st_size
