"""Configures a run. Reading it must not run it."""

import os
from textwrap import dedent

from shinka.core import EvolutionConfig, EvolutionRunner
from shinka.database import DatabaseConfig
from shinka.launch import LocalJobConfig

raise SystemExit("nobody should run this")

MODELS = ["a-model", "local-b-model-http://localhost:11434/v1"]
MESSAGE = dedent("""
    Fit a line.
    Move the offset.
""")

evo_config = EvolutionConfig(
    task_sys_msg=MESSAGE,
    num_generations=15,
    llm_models=MODELS,
    llm_kwargs=dict(temperatures=[0.0, 1.0], max_tokens=2048),
    max_api_costs=0.5,
    meta_rec_interval=5,
    meta_llm_models=["a-model"],
    results_dir=os.environ["RESULTS"],
    init_program_path="initial.py",
)
job_config = LocalJobConfig(eval_program_path="evaluate.py", time="00:00:30", extra_cmd_args={"level": 2})
parents = dict(parent_selection_strategy="weighted")
db_config = DatabaseConfig(num_islands=2, **parents)
EvolutionRunner(evo_config=evo_config, job_config=job_config, db_config=db_config).run()
