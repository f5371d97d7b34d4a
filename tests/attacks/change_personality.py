# Run with a fixed address space.
# expect: forbidden
# stopped by: seccomp
# through: ok

import ctypes

def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    libc.syscall(@NR:personality@, 0x0040000)
