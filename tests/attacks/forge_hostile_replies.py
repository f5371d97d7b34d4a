# Write replies that break parsers.
# expect: protocol
# stopped by: -

import os

def frame(payload):
    return len(payload).to_bytes(4, "big") + payload

def smallest(items):
    for payload in (b'[' * 100, b'NaN', b'{"a":1,"a":1}', b'\xff\xfe', b'9' * 10_000):
        os.write(4, frame(payload))
    return items.index(min(items))
