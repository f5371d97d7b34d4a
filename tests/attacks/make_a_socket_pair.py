# Make a pair of sockets, over which descriptors could be passed.
# expect: ok
# stopped by: seccomp

import socket

def attack():
    return str(socket.socketpair())
