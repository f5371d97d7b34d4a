# Raise an exception whose text never ends.
# expect: exception
# stopped by: -

class Endless(Exception):
    def __str__(self):
        while True:
            pass
    __repr__ = __str__

def smallest(items):
    raise Endless
