# Leave a System V segment behind, which outlives its process.
# expect: ok
# stopped by: seccomp

import ctypes

def attack():
    libc = ctypes.CDLL(None)
    segment = libc.shmget(0, 4096, 0o1600)
    if segment >= 0:
        libc.shmctl(segment, 0, None)
        return "made"
