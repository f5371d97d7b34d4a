# Map memory that can be written and executed.
# expect: ok
# stopped by: seccomp

import mmap

def attack():
    mmap.mmap(-1, 4096, prot=7)
    return 'mapped'
