# Write to address 0.
# expect: crash
# stopped by: -

import ctypes

def smallest(items):
    ctypes.memset(0, 0, 1)
