# Keep memory in a file without a name.
# expect: ok
# stopped by: limits, seccomp

import os

def attack():
    return os.write(os.memfd_create('x'), bytes(1 << 20))
