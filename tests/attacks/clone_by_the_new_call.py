# Make a process by clone3, whose arguments no filter can see.
# expect: ok
# stopped by: limits, seccomp

import ctypes
import os

def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    arguments = (ctypes.c_uint64 * 8)()
    arguments[4] = 17
    pid = libc.syscall(@NR:clone3@, arguments, ctypes.c_size_t(64))
    if pid == 0:
        os._exit(0)
    if pid > 0:
        os.waitpid(pid, 0)
        return "cloned"
