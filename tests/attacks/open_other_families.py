# Open sockets of the families that firewalls forget.
# expect: ok
# stopped by: seccomp

import socket

def attack():
    for family, kind in ((40, socket.SOCK_STREAM), (16, socket.SOCK_RAW), (38, 5), (17, socket.SOCK_RAW)):
        try:
            socket.socket(family, kind)
        except OSError:
            continue
        return f"family {family}"
