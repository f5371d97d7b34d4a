# role: loop
# why: heights that nobody chose are far from a local optimum, and going down costs little
# needs: descent
# wants: STEP
# wire: result = descend({result})
def descend(found):
    """The heights that the descent reaches from those found."""
    return descent(np.array(found)).tolist()
