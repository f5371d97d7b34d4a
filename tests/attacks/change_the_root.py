# Use a capability.
# expect: forbidden
# stopped by: privileges, seccomp
# needs: root

import os

def attack():
    os.chroot('/')
    return 'could'
