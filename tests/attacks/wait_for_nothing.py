# Wait on a descriptor that never becomes ready.
# expect: ok
# stopped by: seccomp
# through: timeout

import ctypes

def attack():
    ctypes.CDLL(None).poll(None, 0, -1)
