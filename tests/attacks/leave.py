# Leave with success.
# expect: exited
# stopped by: -

import os

def smallest(items):
    os._exit(0)
