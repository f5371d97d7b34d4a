# role: loop
# why: heights that nobody chose are far from a local optimum, and going down costs little
# needs: descent
# wants: STEP
# wire: result = descend({result})
def descend(current):
    """The heights that the descent reaches from the current ones."""
    return descent(np.array(current)).tolist()
