# Refuse to end: finalisers and exit handlers that spin.
# expect: ok
# stopped by: -

import sys
import weakref

class Clinging:
    def __del__(self):
        while True:
            pass

kept = Clinging()
sys.modules["clinging"] = kept

def spin():
    while True:
        pass

weakref.finalize(kept, spin)

def smallest(items):
    return items.index(min(items))
