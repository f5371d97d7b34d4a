# Replace the functions of the runner.
# expect: protocol|exception|exited|timeout|cpu_limit|invalid_output|crash
# stopped by: -

import sys

def smallest(items):
    runner = sys._getframe(1).f_globals
    for name, value in list(runner.items()):
        if callable(value) and not isinstance(value, type):
            runner[name] = lambda *arguments, **named: b'{"answer": 0, "score": 1e9}'
    return 0
