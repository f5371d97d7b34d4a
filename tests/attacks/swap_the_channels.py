# Point the channels at other descriptors.
# expect: exited|protocol|timeout
# stopped by: -

import os

def frame(payload):
    return len(payload).to_bytes(4, "big") + payload

def smallest(items):
    os.dup2(0, 4)
    os.dup2(0, 3)
    return items.index(min(items))
