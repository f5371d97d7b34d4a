# Return ten megabytes.
# expect: output_limit
# stopped by: -

def smallest(items):
    return 'x' * 10_000_000
