# role: loop
# why: a greedy placement is seldom a local optimum, and descending costs little
# needs: packing, descend
# wants: NEIGHBOURHOODS
# wire: result = local_search(gpu_num, {result})
def local_search(gpu_num, placement):
    """The local optimum that the neighbourhoods reach from a placement."""
    packing = Packing(gpu_num, placement)
    descend(packing)
    return packing.placement()
