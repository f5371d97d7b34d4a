# Raise SystemExit.
# expect: exception
# stopped by: -

def smallest(items):
    raise SystemExit(0)
