# Stop itself: a stopped process never ends by itself.
# expect: ok
# stopped by: seccomp
# through: timeout

import os

def attack():
    os.kill(os.getpid(), 19)
