# role: shared
# why: a GPU that is too full is worse than any other, and the worse the fuller, so that changes can mend it
OVERFULL = 1e15


def pressure(load, size):
    """The KV-cache pressure of a GPU with this load and size; OVERFULL or more when it is full."""
    return load / (GPU_MEM_SIZE - size) if size < GPU_MEM_SIZE else OVERFULL * (1 + size - GPU_MEM_SIZE)
