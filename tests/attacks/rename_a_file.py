# Rename a file.
# expect: ok
# stopped by: landlock, seccomp

import os

def attack():
    os.rename('@DIR@/canary', '@DIR@/renamed')
    return 'renamed'
