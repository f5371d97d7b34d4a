# Wake who waits on a page of libc's file, which every process has.
# expect: ok
# stopped by: seccomp

import ctypes

def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    place = ctypes.cast(libc.strerror, ctypes.c_void_p).value & ~0xfff
    if libc.syscall(@NR:futex@, ctypes.c_void_p(place), 1, 64, None, None, 0) >= 0:
        return "a futex on a shared page"
