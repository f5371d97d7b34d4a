# Return NaN and infinities.
# expect: invalid_output
# stopped by: -

def smallest(items):
    return [float('nan'), float('inf')]
