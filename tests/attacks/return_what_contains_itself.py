# Return a list that contains itself.
# expect: invalid_output
# stopped by: -

def smallest(items):
    loop = []
    loop.append(loop)
    return loop
