# Recurse with the limit lifted.
# expect: crash|exception|oom|cpu_limit
# stopped by: -

import sys

def smallest(items):
    sys.setrecursionlimit(10 ** 9)
    def deeper(n):
        return deeper(n + 1) + 1
    return deeper(0)
