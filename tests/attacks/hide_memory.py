# Make memory that not even the kernel reads.
# expect: forbidden
# stopped by: seccomp
# through: ok

import ctypes

def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    libc.syscall(@NR:memfd_secret@, 0)
