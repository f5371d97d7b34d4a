# Answer with the nonce that its own frames hold, better than it can.
# expect: invalid_output|protocol|cpu_limit
# stopped by: -

import json
import os
import sys

def smallest(items):
    frame = sys._getframe()
    while "nonce" not in frame.f_locals:
        frame = frame.f_back
    reply = json.dumps({"nonce": frame.f_locals["nonce"], "answer": {"cost": 0, "score": 1e9}}).encode()
    os.write(4, len(reply).to_bytes(4, "big") + reply)
    while True:
        pass
