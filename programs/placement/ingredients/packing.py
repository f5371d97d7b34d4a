# role: shared
# why: a change to two GPUs is judged by their sums alone, whatever the size of the cluster
# needs: pressure
class Packing:
    """A placement as one group of (load, size, model) per GPU, beside the sums of every group."""

    def __init__(self, gpu_num, placement):
        self.groups = [[] for _ in range(gpu_num)]
        self.loads, self.sizes, self.pressures = [0.0] * gpu_num, [0] * gpu_num, [0.0] * gpu_num
        for gpu, models in placement.items():
            self.put(gpu, [(model.req_rate / model.slo, model.model_size, model) for model in models])

    def put(self, gpu, group):
        """Make `group` the content of a GPU."""
        load = sum([item[0] for item in group])
        size = sum([item[1] for item in group])
        self.groups[gpu], self.loads[gpu], self.sizes[gpu] = group, load, size
        self.pressures[gpu] = pressure(load, size)

    def worst(self):
        """The GPU with the largest pressure."""
        return self.pressures.index(max(self.pressures))

    def copy(self):
        """A packing that changes without this one."""
        other = Packing(0, {})
        other.groups, other.loads = self.groups[:], self.loads[:]
        other.sizes, other.pressures = self.sizes[:], self.pressures[:]
        return other

    def placement(self):
        """The models of every GPU."""
        return {gpu: [item[2] for item in group] for gpu, group in enumerate(self.groups)}
