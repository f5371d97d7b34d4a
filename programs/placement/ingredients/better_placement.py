# role: shared
# why: a second constructor can only help when the better of both results is kept
# needs: pressure
def largest_pressure(placement):
    """The largest pressure over the GPUs of a placement; infinite without one."""
    if placement is None:
        return float("inf")
    largest = 0.0
    for group in placement.values():
        load = sum(model.req_rate / model.slo for model in group)
        largest = max(largest, pressure(load, sum(model.model_size for model in group)))
    return largest


def better_placement(first, second):
    """The one of two placements (or None) with the smaller largest pressure; the first one of equals."""
    return second if largest_pressure(second) < largest_pressure(first) else first
