"""`tfcompat checkpoint show`: the values in a checkpoint; `tfcompat summary` lists their names."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.checkpoint.reader import CheckpointReader
from tfcompat._src.train.checkpoint_utils import load_checkpoint

ARGUMENTS = "show CHECKPOINT [NAME...]"


def main(arguments: list[str]) -> int:
    """Prints the values of variables; the exit status.

    Args:
      arguments: "show", the prefix or folder of a checkpoint, and the names of variables; by default all.
    """
    parser = argparse.ArgumentParser(prog="tfcompat checkpoint")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("show", help="print values")
    command.add_argument("checkpoint", help="prefix of a checkpoint, or a folder whose latest one is meant")
    command.add_argument("names", nargs="*", help="variables to print; by default all")
    command.add_argument("--all-values", action="store_true", help="print every element of large variables")
    options = parser.parse_args(arguments)
    try:
        _show(load_checkpoint(options.checkpoint), options.names, options.all_values)
    except (errors.OpError, ValueError) as e:
        sys.stderr.write(f"tfcompat checkpoint: {e}\n")
        return 1
    return 0


def _show(reader: CheckpointReader, names: list[str], all_values: bool) -> None:
    limit = {"threshold": sys.maxsize} if all_values else {}
    with np.printoptions(**limit):
        for name in names or sorted(reader.get_variable_to_shape_map()):
            print(f"{name}:")
            print(reader.get_tensor(name))
