# Abort.
# expect: crash
# stopped by: -

import os

def smallest(items):
    os.abort()
