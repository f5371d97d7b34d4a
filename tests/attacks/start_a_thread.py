# Start a thread that works between the instances.
# expect: ok
# stopped by: limits, seccomp

import threading

def spin():
    while True:
        pass

def attack():
    threading.Thread(target=spin, daemon=True).start()
    return "started"
