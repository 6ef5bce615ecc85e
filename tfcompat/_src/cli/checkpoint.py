"""`tfcompat checkpoint list|show`: what a checkpoint holds."""

from __future__ import annotations

import argparse
import sys

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.checkpoint.reader import CheckpointReader
from tfcompat._src.train.checkpoint_utils import load_checkpoint

ARGUMENTS = "list|show CHECKPOINT [NAME...]"
_MEGABYTE = 1 << 20


def main(arguments: list[str]) -> int:
    """Prints the variables of a checkpoint (`list`), or their values (`show`); the exit status.

    Args:
      arguments: the subcommand, a prefix or folder, and for `show` the names of variables; by default all.
    """
    parser = argparse.ArgumentParser(prog="tfcompat checkpoint")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (("list", "names, types and shapes"), ("show", "values")):
        command = commands.add_parser(name, help=text)
        command.add_argument("checkpoint", help="prefix of a checkpoint, or a folder whose latest one is meant")
        if name == "show":
            command.add_argument("names", nargs="*", help="variables to print; by default all")
            command.add_argument("--all-values", action="store_true", help="print every element of large variables")
    options = parser.parse_args(arguments)
    try:
        reader = load_checkpoint(options.checkpoint)
        if options.command == "list":
            _list(reader)
        else:
            _show(reader, options.names, options.all_values)
    except (errors.OpError, ValueError) as e:
        sys.stderr.write(f"tfcompat checkpoint: {e}\n")
        return 1
    return 0


def _list(reader: CheckpointReader) -> None:
    types = reader.get_variable_to_dtype_map()
    total = count = 0
    for name, shape in sorted(reader.get_variable_to_shape_map().items()):
        elements = int(np.prod(shape, dtype=np.int64))
        total += elements * (types[name].size if types[name].name != "string" else 0)
        count += elements
        print(f"{name}  {types[name].name}  {shape}")
    print(f"{len(types)} variables, {count} elements, {total / _MEGABYTE:.1f} MB of numbers")


def _show(reader: CheckpointReader, names: list[str], all_values: bool) -> None:
    limit = {"threshold": sys.maxsize} if all_values else {}
    with np.printoptions(**limit):
        for name in names or sorted(reader.get_variable_to_shape_map()):
            print(f"{name}:")
            print(reader.get_tensor(name))
