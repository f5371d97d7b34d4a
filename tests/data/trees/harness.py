"""Runs one command in the sandbox and prints its ending as JSON: `harness.py '{"level", "argv", "files", "limits"}'`. A
process of its own, to be of another user, or to be killed."""
import dataclasses
import json
import os
import sys

from evaluator.errors import SandboxError
from evaluator.sandbox import tree
from evaluator.sandbox.turns import Cancellation
from evaluator.sandbox.tree import TreeJob, TreeSandbox
from evaluator.task import Limits


def main():
    job = json.loads(sys.argv[1])
    files = {name: text.encode() for name, text in job["files"].items()}
    argv = tuple(sys.executable if part == "python" else part for part in job["argv"])
    sandbox = TreeSandbox(next(found for found in tree._options([]) if found.level == job["level"]))
    ending = sandbox.run(TreeJob(argv=argv, files=files, result="result"), Limits(**job["limits"]), Cancellation())
    record = dataclasses.asdict(ending) | {"result": None if ending.result is None else ending.result.decode()}
    print(json.dumps(record | {"uid": os.getuid()}))


if __name__ == "__main__":
    try:
        main()
    except SandboxError as cause:
        print(json.dumps({"refused": str(cause)}))
