# Close every descriptor.
# expect: exited|protocol
# stopped by: -

import os

def frame(payload):
    return len(payload).to_bytes(4, "big") + payload

def smallest(items):
    os.closerange(0, 256)
    return items.index(min(items))
