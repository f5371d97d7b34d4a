# Look through every object for the harness's key, its instances and bounds.
# expect: ok
# stopped by: -

import gc

def attack():
    for thing in gc.get_objects():
        if isinstance(thing, dict):
            for value in list(thing.values()):
                if isinstance(value, str) and ("@SECRET@" in value and "attack" not in thing):
                    return value[:100]
                if isinstance(value, str) and value.startswith('{"instances"'):
                    return value[:100]
