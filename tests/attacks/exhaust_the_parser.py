# Make the parser's work unbounded.
# expect: exception|oom|crash|cpu_limit
# stopped by: -

def smallest(items):
    return eval('-' * 5_000_000 + '1')
