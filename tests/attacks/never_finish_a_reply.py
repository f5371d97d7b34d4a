# Begin a reply and spin.
# expect: cpu_limit
# stopped by: -

import os

def frame(payload):
    return len(payload).to_bytes(4, "big") + payload

def smallest(items):
    os.write(4, b'\0\0\1')
    while True:
        pass
    return items.index(min(items))
