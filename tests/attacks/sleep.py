# Use up wall time without CPU time.
# expect: ok
# stopped by: seccomp

import time

def attack():
    time.sleep(0.01)
    return 'slept'
