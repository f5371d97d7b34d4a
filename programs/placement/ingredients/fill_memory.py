# role: constructor
# why: where memory is tight, filling one GPU after the other with as little left as possible makes room for all
# needs: better_placement
# wire: result = better_placement({result}, fill_memory(gpu_num, models))
def fill_memory(gpu_num, models):
    """On each GPU the largest model that is left, and those others with it that fill it most; None when some stay."""
    placement = {gpu: [] for gpu in range(gpu_num)}
    left = sorted(models, key=lambda m: m.model_size, reverse=True)
    for gpu in range(gpu_num):
        if not left:
            break
        chosen = {left[0].model_size: [0]}  # for each sum of sizes below the limit, one choice that has it
        for index in range(1, len(left)):
            if max(chosen) == GPU_MEM_SIZE - 1:
                break
            for size, held in list(chosen.items()):
                if size + left[index].model_size < GPU_MEM_SIZE:
                    chosen.setdefault(size + left[index].model_size, [*held, index])
        fullest = chosen[max(chosen)]
        placement[gpu] = [left[index] for index in fullest]
        left = [model for index, model in enumerate(left) if index not in fullest]
    return None if left else placement
