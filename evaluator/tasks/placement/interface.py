"""What this task offers to programs of ours that place models, as `evolve place` does."""

from evaluator.tasks.placement.exact import counted_bound, fluid_bound, placed
from evaluator.tasks.placement.judge import judge
from evaluator.tasks.placement.packing import solver_module
from evaluator.tasks.placement.picture import picture
from evaluator.tasks.placement.recipes import GPU_MEM_SIZE

__all__ = ["GPU_MEM_SIZE", "counted_bound", "fluid_bound", "judge", "picture", "placed", "solver_module"]
