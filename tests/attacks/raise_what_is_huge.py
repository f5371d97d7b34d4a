# Raise an exception with a hostile name and a text of 100 MB.
# expect: exception
# stopped by: -

class Huge(Exception):
    def __str__(self):
        return "X" * (100 << 20)

try:
    Huge.__name__ = "E\ud800" + "n" * 100_000
except ValueError:
    Huge.__name__ = "E" * 100_000

def smallest(items):
    raise Huge("\ud800\x00\x1b[2J" * 1000)
