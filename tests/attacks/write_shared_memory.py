# Leave a note for the next candidate in /dev/shm.
# expect: ok
# stopped by: limits, landlock, seccomp

import os

def attack():
    path = f"/dev/shm/evolve-attack-{os.getpid()}"
    try:
        with open(path, "w") as file:
            file.write("x")
    finally:
        if os.path.exists(path):
            os.unlink(path)
    return "wrote"
