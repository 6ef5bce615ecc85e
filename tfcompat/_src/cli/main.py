"""The `tfcompat` command: one row per subcommand."""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
import types
from typing import NamedTuple

import jax

from tfcompat._src.platform.versions import VERSION


class Command(NamedTuple):
    """A subcommand: what it does, and the module whose ARGUMENTS say what it takes and whose `main` gives the exit status for them."""

    module: str
    help: str

    def load(self) -> types.ModuleType:
        """The module, imported when it is asked for: a program that runs waits for no other command."""
        return importlib.import_module(f"tfcompat._src.{self.module}")


COMMANDS = {
    "check": Command("cli.check.command", "say what of programs will not run, without running them"),
    "checkpoint": Command("cli.checkpoint", "print the values in a checkpoint"),
    "compare": Command("cli.compare", "compare two records of a program's runs"),
    "convert": Command("convert.command", "convert a model to JAX, StableHLO, ONNX, TensorFlow Lite, TensorFlow.js, a SavedModel or a frozen graph"),
    "debug": Command("cli.debug", "look at the tensors and nodes that a debugged run has dumped"),
    "doctor": Command("cli.doctor", "say which devices there are, where operations go and what is missing"),
    "launch": Command("cli.launch", "run a program as the tasks of a cluster on this machine"),
    "recorder": Command("cli.recorder", "print the program that records runs where TensorFlow 1 is"),
    "replay": Command("cli.replay", "make recorded runs here, compare them, and name the first node that differs"),
    "run": Command("cli.run", "run a TensorFlow 1 program as python does"),
    "saved-model": Command("saved_model.command", "print what a SavedModel holds, or run one of its signatures"),
    "serve": Command("cli.serve", "serve SavedModels over REST and gRPC, as TensorFlow Serving does"),
    "summary": Command("cli.summary", "print what a checkpoint, SavedModel, graph or event file holds, in tables"),
    "tflite-convert": Command("lite.command", "convert a SavedModel, frozen graph or Keras file to a TensorFlow Lite model"),
    "upgrade": Command("tools.compatibility.command", "rewrite programs for TensorFlow 2's API, as tf_upgrade_v2 does"),
}


def usage() -> str:
    rows = "\n".join(f"  tfcompat {name} {row.load().ARGUMENTS}\n      {row.help}" for name, row in COMMANDS.items())
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
    status: int = COMMANDS[first].load().main(rest)
    return status
