# Replace itself by another program.
# expect: ok
# stopped by: limits, landlock, seccomp
# through: exited

import os

def attack():
    os.execv('/bin/true', ['true'])
