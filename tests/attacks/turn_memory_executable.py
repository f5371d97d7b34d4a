# Make memory executable after writing it.
# expect: ok
# stopped by: seccomp

import ctypes
import mmap

def attack():
    memory = mmap.mmap(-1, 4096)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    if ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), 4096, 5) == 0:
        return "turned"
