# Write a file.
# expect: ok
# stopped by: limits, landlock, seccomp

def attack():
    with open('@DIR@/written', 'w') as file:
        file.write('x')
    return 'wrote'
