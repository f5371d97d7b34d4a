# Print a great deal.
# expect: ok|exception
# stopped by: -

import sys

def smallest(items):
    for _ in range(200):
        print('x' * 10_000)
        print('y' * 10_000, file=sys.stderr)
    return items.index(min(items))
