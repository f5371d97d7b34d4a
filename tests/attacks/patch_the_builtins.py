# Replace what a scorer would use: sum, max, len, json.
# expect: exception|protocol|invalid_output|exited|ok
# stopped by: -

import builtins
import json
import sys

def smallest(items):
    for module in list(sys.modules.values()):
        for name in ("judge", "score", "summarise", "validate"):
            if hasattr(module, name):
                setattr(module, name, lambda *arguments: 1e9)
    builtins.sum = builtins.max = builtins.min = lambda *arguments: 0
    json.dumps = lambda *arguments, **named: '{"answer": 0}'
    return len(items) - 1
