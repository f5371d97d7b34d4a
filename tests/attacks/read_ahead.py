# Read the request channel for instances to come.
# expect: timeout
# stopped by: -

import os

def frame(payload):
    return len(payload).to_bytes(4, "big") + payload

def smallest(items):
    if os.read(3, 1 << 16):
        raise Breach('there was more')
    return items.index(min(items))
