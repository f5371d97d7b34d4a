# Block and ignore every signal, catch everything, spin.
# expect: cpu_limit
# stopped by: -

import signal

def smallest(items):
    for number in range(1, 65):
        try:
            signal.signal(number, lambda *arguments: None)
        except (OSError, ValueError):
            pass
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
