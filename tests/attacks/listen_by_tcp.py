# Listen for connections.
# expect: ok
# stopped by: landlock, seccomp

import socket

def attack():
    server = socket.socket()
    server.bind((b'127.0.0.1', 0))
    return server.getsockname()
