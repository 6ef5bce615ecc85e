"""Looks at a dump after the program has ended: `python -m tensorflow.python.debug.cli.offline_analyzer --dump_dir=FOLDER`."""

from __future__ import annotations

import argparse
import sys

from tfcompat._src.debug.cli import analyzer_cli
from tfcompat._src.debug.dump_dir import DebugDumpDir
from tfcompat._src.debug.dump_files import has_inf_or_nan


def analyze(dump_dir: str, ui_type: str = "curses", validate: bool = True) -> None:
    """Shows a dump in a user interface until this is left.

    Args:
      dump_dir: the folder of a run.
      ui_type: "curses" or "readline".
      validate: whether the dump must agree with the graphs in it.

    Raises:
      OSError: the folder does not exist.
      ValueError: the dump does not agree with its graphs.
    """
    dump = DebugDumpDir(dump_dir, validate=validate)
    interface = analyzer_cli.create_analyzer_ui(dump, tensor_filters={"has_inf_or_nan": has_inf_or_nan}, ui_type=ui_type)
    interface.run_ui(title="tfdbg offline @ %s" % dump_dir, title_color="black_on_white", init_command="lt")


def _truth(text: str) -> bool:
    return text.lower() == "true"


def main(arguments: list[str]) -> int:
    """Runs the analyzer with 1.15's flags; the exit status."""
    parser = argparse.ArgumentParser(prog="offline_analyzer")
    parser.add_argument("--dump_dir", default="", help="folder of a run, with its dumped tensors")
    parser.add_argument("--log_usage", type=_truth, nargs="?", const=True, default=True, help="taken and without effect: nothing is logged")
    parser.add_argument("--ui_type", default="curses", help="user interface: curses or readline")
    parser.add_argument("--validate_graph", type=_truth, nargs="?", const=True, default=True, help="whether tensors must agree with the graphs")
    flags, _ = parser.parse_known_args(arguments)
    if not flags.dump_dir:
        print("ERROR: dump_dir flag is empty.", file=sys.stderr)
        return 1
    print("tfdbg offline: FLAGS.dump_dir = %s" % flags.dump_dir)
    analyze(flags.dump_dir, flags.ui_type, flags.validate_graph)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
