# Read the session's keyring.
# expect: forbidden
# stopped by: seccomp
# through: ok

import ctypes

def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    libc.syscall(@NR:keyctl@, 0, -3, 1)
