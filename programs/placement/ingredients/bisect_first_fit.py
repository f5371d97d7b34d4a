# role: constructor
# why: bisection on the pressure turns the maximum into bin packing, where decreasing first fit is good
# needs: bisect_pressure, better_placement
# wire: result = better_placement({result}, bisect_pressure(gpu_num, models, first_fit))
def first_fit(gpu_num, weighed, capacity):
    """Each of the (weight, model) pairs on the first GPU with room for it; None when one has none."""
    placement = {gpu: [] for gpu in range(gpu_num)}
    rooms = [capacity] * gpu_num
    for weight, model in weighed:
        gpu = next((g for g in range(gpu_num) if rooms[g] >= weight), None)
        if gpu is None:
            return None
        placement[gpu].append(model)
        rooms[gpu] -= weight
    return placement
