# Reach an abstract Unix socket of the harness.
# expect: ok
# stopped by: landlock, seccomp

import socket

def attack():
    return socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b'out', '\0@ABSTRACT@')
