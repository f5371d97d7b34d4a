# Drop pages of libc's file from memory, which others have mapped too, or ask which are there.
# expect: ok
# stopped by: seccomp

import ctypes

def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    place = ctypes.c_void_p(ctypes.cast(libc.strerror, ctypes.c_void_p).value & ~0xfff)
    for advice in (3, 20, 21, 22, 25):  # willneed, cold, pageout, populate_read, collapse
        if libc.madvise(place, ctypes.c_size_t(4096), advice) == 0:
            return f"madvise {advice}"
    if libc.mincore(place, ctypes.c_size_t(4096), ctypes.create_string_buffer(1)) == 0:
        return "mincore"
