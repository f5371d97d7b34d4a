# Take a futex with priority inheritance: it says the taker's own number, and whether a process of any number lives.
# expect: ok
# stopped by: seccomp

import ctypes

LOCKS = (6, 8, 13)  # LOCK_PI, TRYLOCK_PI, LOCK_PI2
FLAGS = (128, 384)  # private, private with CLOCK_REALTIME

def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    for operation in LOCKS:
        for flags in FLAGS:
            for owner in (0, 1, 2**20):
                word = ctypes.c_uint32(owner)
                at_once = ctypes.byref((ctypes.c_long * 2)())
                answer = libc.syscall(@NR:futex@, ctypes.byref(word), operation | flags, 0, at_once, None, 0)
                if answer == 0:
                    return f"its own number is {word.value & 0x3fffffff}"
                if ctypes.get_errno() != 1:
                    return f"whether {owner} lives: {ctypes.get_errno()}"
