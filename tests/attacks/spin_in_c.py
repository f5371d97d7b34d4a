# Stay in one call of C code, which no Python signal handler interrupts.
# expect: cpu_limit|oom
# stopped by: -

def smallest(items):
    return str(7 ** (10 ** 9))
