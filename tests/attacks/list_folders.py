# List what is in the root and in the folder of the canary.
# expect: ok
# stopped by: landlock, seccomp

import os

def attack():
    return os.listdir('@DIR@')
