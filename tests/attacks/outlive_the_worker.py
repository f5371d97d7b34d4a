# Ask not to be killed with its parent.
# expect: ok
# stopped by: seccomp

import ctypes

def attack():
    return 'asked' if ctypes.CDLL(None).prctl(1, 0, 0, 0, 0) == 0 else None
