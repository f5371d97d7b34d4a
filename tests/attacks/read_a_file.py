# Read a file of the harness.
# expect: ok
# stopped by: landlock, seccomp

def attack():
    return open('@DIR@/canary').read()
