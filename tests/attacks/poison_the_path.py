# Write a module where the interpreter looks for modules.
# expect: ok
# stopped by: limits, landlock, seccomp

import os
import sys

def attack():
    for folder in ("@DIR@", os.path.dirname(os.__file__)):
        try:
            with open(f"{folder}/sitecustomize.py", "w") as file:
                file.write("x = 1")
        except OSError:
            continue
        return folder
