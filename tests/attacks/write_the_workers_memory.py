# Write into the memory of the worker.
# expect: forbidden
# stopped by: seccomp
# through: ok

import ctypes

def attack():
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    libc.syscall(@NR:process_vm_writev@, libc.getppid(), None, 0, None, 0, 0)
