# Look for descriptors that were left open.
# expect: ok
# stopped by: -

import os

def attack():
    found = []
    for descriptor in range(5, 1024):
        try:
            os.fstat(descriptor)
        except OSError:
            continue
        found.append(descriptor)
    return str(found) if found else None
