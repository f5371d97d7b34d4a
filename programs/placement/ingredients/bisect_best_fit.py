# role: constructor
# why: the tightest GPU with room wastes least of what a pressure target leaves free
# needs: bisect_pressure, better_placement
# wire: result = better_placement({result}, bisect_pressure(gpu_num, models, best_fit))
def best_fit(gpu_num, weighed, capacity):
    """Each of the (weight, model) pairs on the GPU that it fills most; None when one fits nowhere."""
    placement = {gpu: [] for gpu in range(gpu_num)}
    rooms = [capacity] * gpu_num
    for weight, model in weighed:
        fitting = [gpu for gpu in range(gpu_num) if rooms[gpu] >= weight]
        if not fitting:
            return None
        gpu = min(fitting, key=lambda g: rooms[g])
        placement[gpu].append(model)
        rooms[gpu] -= weight
    return placement
