# Make a folder.
# expect: ok
# stopped by: landlock, seccomp

import os

def attack():
    os.mkdir('@DIR@/folder')
    return 'made'
