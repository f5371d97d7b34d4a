# Return numbers that change when they are looked at.
# expect: ok|invalid_output|exception
# stopped by: -

class Lying(int):
    looks = 0
    def __int__(self): return 0
    def __index__(self): return 0
    def __repr__(self): return "0"
    def __eq__(self, other): return True
    __hash__ = None

def smallest(items):
    return Lying(10 ** 6)
