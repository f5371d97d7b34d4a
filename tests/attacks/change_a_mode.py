# Change a file's mode, which Landlock does not cover.
# expect: ok
# stopped by: privileges, seccomp

import os

def attack():
    os.chmod('@DIR@/canary', 0o600)
    return 'changed'
