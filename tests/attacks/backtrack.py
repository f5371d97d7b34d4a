# Match a regular expression for ever.
# expect: cpu_limit
# stopped by: -

import re

def smallest(items):
    return re.match(r'(a+)+$', 'a' * 60 + 'b')
