"""The `tfcompat` command: one row per subcommand."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Callable
from typing import NamedTuple

import jax

from tfcompat._src.cli import checkpoint, doctor, launch, run, serve, summary
from tfcompat._src.cli.check import command as check
from tfcompat._src.platform.versions import VERSION
from tfcompat._src.saved_model import command as saved_model


class Command(NamedTuple):
    """A subcommand: what it takes, what it does, and the function from its arguments to the exit status."""

    arguments: str
    help: str
    main: Callable[[list[str]], int]


COMMANDS = {
    "check": Command(check.ARGUMENTS, "say what of programs will not run, without running them", check.main),
    "checkpoint": Command(checkpoint.ARGUMENTS, "print the values in a checkpoint", checkpoint.main),
    "doctor": Command(doctor.ARGUMENTS, "say which devices there are, where operations go and what is missing", doctor.main),
    "launch": Command(launch.ARGUMENTS, "run a program as the tasks of a cluster on this machine", launch.main),
    "run": Command(run.ARGUMENTS, "run a TensorFlow 1 program as python does", run.main),
    "saved-model": Command(saved_model.ARGUMENTS, "print what a SavedModel holds, or run one of its signatures", saved_model.main),
    "serve": Command(serve.ARGUMENTS, "serve SavedModels over REST and gRPC, as TensorFlow Serving does", serve.main),
    "summary": Command(summary.ARGUMENTS, "print what a checkpoint, SavedModel, graph or event file holds, in tables", summary.main),
}


def usage() -> str:
    rows = "\n".join(f"  tfcompat {name} {row.arguments}\n      {row.help}" for name, row in COMMANDS.items())
    return f"usage: tfcompat COMMAND [ARGS...]\n\n{rows}\n  tfcompat --version\n  tfcompat --help\n"


def version() -> str:
    try:
        own = importlib.metadata.version("tfcompat")
    except importlib.metadata.PackageNotFoundError:
        own = "(not installed)"
    return f"tfcompat {own}: the API of TensorFlow {VERSION} on JAX {jax.__version__}, Python {sys.version.split()[0]}"


def main() -> int:
    """Runs the subcommand that the command line names, and returns the exit status."""
    arguments = sys.argv[1:]
    if not arguments:
        sys.stderr.write(usage())
        return 2
    first, rest = arguments[0], arguments[1:]
    if first in ("-h", "--help"):
        sys.stdout.write(usage())
        return 0
    if first in ("-V", "--version"):
        print(version())
        return 0
    if first not in COMMANDS:
        sys.stderr.write(f"tfcompat: unknown command {first!r}\n\n{usage()}")
        return 2
    return COMMANDS[first].main(rest)
