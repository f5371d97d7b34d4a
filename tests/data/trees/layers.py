"""What doctor finds of the layers around scripts, as JSON: a process of its own, to be of another user."""
import json

from evaluator.sandbox.probe import probe_scripts

print(json.dumps({check.name: [check.state, check.detail] for check in probe_scripts()}))
