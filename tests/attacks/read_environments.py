# Look for the harness's key in every environment that /proc shows, and in its own.
# expect: ok
# stopped by: privileges, landlock, seccomp
# needs: proc

import os

def attack():
    if "@SECRET@" in os.environ.values():
        return "in its own environment"
    for entry in os.listdir("/proc"):
        try:
            text = open(f"/proc/{entry}/environ", "rb").read()
        except OSError:
            continue
        if b"@SECRET@" in text:
            return f"in the environment of {entry}"
