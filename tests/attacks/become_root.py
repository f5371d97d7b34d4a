# Become root.
# expect: ok
# stopped by: privileges, seccomp
# needs: root

import os

def attack():
    os.setuid(0)
    return 'root'
