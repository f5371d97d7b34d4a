# Send a datagram, which Landlock does not cover.
# expect: ok
# stopped by: seccomp

import socket

def attack():
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'out', (b'127.0.0.1', @UDP@))
