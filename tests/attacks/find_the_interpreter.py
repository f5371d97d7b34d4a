# Follow /proc/self/exe.
# expect: ok
# stopped by: seccomp

import os

def attack():
    return os.readlink('/proc/self/exe')
