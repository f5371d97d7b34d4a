# role: shared
# why: another start can only help when the better of both results is kept
# needs: convolution
def better_heights(first, second):
    """The one of two lists of heights with the smaller C; the first one of equals."""
    return second if constant(np.array(second)) < constant(np.array(first)) else first
