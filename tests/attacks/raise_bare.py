# Raise what is no Exception.
# expect: exception
# stopped by: -

class Bare(BaseException):
    pass

def smallest(items):
    raise Bare
