"""`evolve worker`: this machine evaluates programs for a run on another one."""

import argparse
import os
import platform
import sys

from evolve.cli import output
from evolve.cluster.confinement import TLS_VARIABLE
from evolve.cluster.extra import require_dask
from evolve.cluster.hosting import command_of, hosting_environment
from evolve.core.clusters import scheduler_address


def run(arguments: argparse.Namespace) -> int:
    """Become the process that hosts the worker, with an environment that holds no key. Raises InputError,
    MachineError."""
    address = scheduler_address(arguments.address)
    require_dask()
    for option, variable in (("tls_ca", "CA_FILE"), ("tls_cert", "WORKER__CERT"), ("tls_key", "WORKER__KEY")):
        path = getattr(arguments, option)
        if path is not None:
            os.environ[f"{TLS_VARIABLE}{variable}"] = str(path.absolute())
    name = arguments.name or f"{platform.node() or 'worker'}-{os.getpid()}"
    command = command_of(address, name, until_closed=False)
    output.say(f"Evaluating programs for {arguments.address} as {name} (Ctrl-C ends it)")
    sys.stdout.flush()
    os.execve(command[0], command, hosting_environment(arguments.env))
