# Announce a reply of 4 GiB.
# expect: protocol
# stopped by: -

import os

def frame(payload):
    return len(payload).to_bytes(4, "big") + payload

def smallest(items):
    os.write(4, b'\xff\xff\xff\xff')
    return items.index(min(items))
