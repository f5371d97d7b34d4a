# Connect to a server on this machine.
# expect: ok
# stopped by: landlock, seccomp

import socket

def attack():
    socket.socket().connect((b'127.0.0.1', @TCP@))
    return 'connected'
