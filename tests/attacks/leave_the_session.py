# Become the leader of a session of its own.
# expect: ok
# stopped by: seccomp

import os

def attack():
    os.setsid()
    return 'left'
