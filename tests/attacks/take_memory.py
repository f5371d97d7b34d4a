# Take more memory than the limit.
# expect: ok
# stopped by: limits

def attack():
    hoard = [bytes(1 << 26) for _ in range(24)]
    return f'{len(hoard) * 64} MB'
