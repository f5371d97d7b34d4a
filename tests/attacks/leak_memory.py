# Take a little more memory with every instance.
# expect: oom
# stopped by: limits

hoard = []

def smallest(items):
    hoard.append(bytes(150 << 20))
    if len(hoard) == 5:
        raise Breach('750 MB')
    return items.index(min(items))
