# Delete a file.
# expect: ok
# stopped by: landlock, seccomp

import os

def attack():
    os.unlink('@DIR@/canary')
    return 'deleted'
