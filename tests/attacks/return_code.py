# Return an object that runs code when it is unpickled.
# expect: invalid_output
# stopped by: -

import os

class Pickled:
    def __reduce__(self):
        return os.mkdir, ('@DIR@/pickled',)

def smallest(items):
    return Pickled()
