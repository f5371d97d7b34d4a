# Write for ever.
# expect: protocol
# stopped by: -

import os

def frame(payload):
    return len(payload).to_bytes(4, "big") + payload

def smallest(items):
    while True:
        os.write(4, b'x' * 60_000)
    return items.index(min(items))
