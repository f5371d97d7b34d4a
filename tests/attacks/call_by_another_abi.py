# Call the kernel by x32 numbers, which a careless filter lets through.
# expect: forbidden
# stopped by: seccomp
# through: ok
# needs: x86_64

import ctypes

def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    libc.syscall(0x40000000 + 39)
