# Be woken by a timer.
# expect: ok
# stopped by: seccomp

import signal

def attack():
    signal.setitimer(signal.ITIMER_REAL, 100)
    return 'set'
