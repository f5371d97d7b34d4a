# Truncate a file.
# expect: ok
# stopped by: landlock, seccomp

import os

def attack():
    os.truncate('@DIR@/canary', 0)
    return 'truncated'
