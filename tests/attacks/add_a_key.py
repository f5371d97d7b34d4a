# Leave a key in a keyring for the next candidate.
# expect: forbidden
# stopped by: seccomp
# through: ok

import ctypes

def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    libc.syscall(@NR:add_key@, b'user', b'note', b'x', 1, -4)
