# role: shared
# why: a second constructor can only help when the better of both results is kept
def largest_pressure(placement):
    """The largest pressure over the GPUs of a placement; infinite without one, or when a GPU is full."""
    if placement is None:
        return float("inf")
    largest = 0.0
    for group in placement.values():
        free = GPU_MEM_SIZE - sum(model.model_size for model in group)
        if free <= 0:
            return float("inf")
        largest = max(largest, sum(model.req_rate / model.slo for model in group) / free)
    return largest


def better_placement(first, second):
    """The one of two placements with the smaller largest pressure; the first one of equals."""
    return second if largest_pressure(second) < largest_pressure(first) else first
