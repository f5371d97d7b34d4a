# Open a performance counter.
# expect: forbidden
# stopped by: seccomp
# through: ok

import ctypes

def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    libc.syscall(@NR:perf_event_open@, None, 0, -1, -1, 0)
