# Use up inodes.
# expect: ok
# stopped by: landlock, seccomp

import os

def attack():
    os.close(os.open('@DIR@/empty', os.O_CREAT | os.O_WRONLY))
    return 'made'
