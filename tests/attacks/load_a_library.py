# Load native code from a file.
# expect: ok
# stopped by: landlock, seccomp
# needs: libanl

import ctypes

def attack():
    return str(ctypes.CDLL('libanl.so.1'))
