# Run a program.
# expect: ok
# stopped by: limits, landlock, seccomp

import subprocess

def attack():
    return subprocess.run(['/bin/sh', '-c', 'echo out'], capture_output=True).stdout
