"""The command `tf_upgrade_v2`: programs of TensorFlow 1 as programs of TensorFlow 2, with a report."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tfcompat._src.tools.compatibility import notebooks, upgrade_safety, upgrade_v2
from tfcompat._src.tools.compatibility.upgrader import ASTCodeUpgrader, Outcome

ARGUMENTS = "--infile X --outfile Y | --intree X --outtree Y [--mode DEFAULT|SAFETY] [FLAGS...]"
_SPECS = {"DEFAULT": upgrade_v2.TFAPIChangeSpec, "SAFETY": upgrade_safety.TFAPIChangeSpec}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("tf_upgrade_v2", description="Convert a TensorFlow Python file from 1.x to 2.0")
    parser.add_argument("--infile", dest="input_file", help="the program or notebook to convert")
    parser.add_argument("--outfile", dest="output_file", help="the file to write")
    parser.add_argument("--intree", dest="input_tree", help="the folder of programs to convert")
    parser.add_argument("--outtree", dest="output_tree", help="the folder to write")
    parser.add_argument("--copyotherfiles", dest="copy_other_files", type=bool, default=True, help="with --intree: copy files that are no programs")
    parser.add_argument("--inplace", dest="in_place", action="store_true", help="write where the input is")
    parser.add_argument("--reportfile", dest="report_filename", default="report.txt", help="the file for the report (default: %(default)s)")
    parser.add_argument(
        "--mode", choices=list(_SPECS), default="DEFAULT",
        help="DEFAULT: use names of 2.0 where that is straightforward, else compat.v1. SAFETY: import compat.v1 and turn behaviour of 2.0 off.",
    )  # fmt: skip
    parser.add_argument("--print_all", action="store_true", help="print the whole report, not only what needs attention")
    return parser


def process_file(in_filename: str, out_filename: str, upgrader: ASTCodeUpgrader) -> Outcome:
    """Upgrades a program or a notebook."""
    if in_filename.endswith(".py"):
        return upgrader.process_file(in_filename, out_filename)
    if in_filename.endswith(".ipynb"):
        return notebooks.process_file(in_filename, out_filename, upgrader)
    raise NotImplementedError("Currently converter only supports python or ipynb")


def main(arguments: Sequence[str] | None = None) -> int:
    """Upgrades a file or folder and writes the report; returns the exit status."""
    parser = _parser()
    flags = parser.parse_args(arguments)
    upgrader = ASTCodeUpgrader(_SPECS[flags.mode]())
    if flags.input_file:
        target = _target(flags, flags.input_file, flags.output_file, "--outfile=<output file> argument is required when converting a single file.")
        _, text, attention = process_file(flags.input_file, target, upgrader)
        _report(flags, 1, text, {flags.input_file: attention})
    elif flags.input_tree:
        target = _target(flags, flags.input_tree, flags.output_tree, "--outtree=<output directory> argument is required when converting a file tree.")
        _report(flags, *upgrader.process_tree(flags.input_tree, target, flags.copy_other_files))
    else:
        parser.print_help()
    return 0


def _target(flags: argparse.Namespace, source: str, target: str | None, lacking: str) -> str:
    if flags.in_place and target:
        raise ValueError(f"{lacking.partition('=')[0]} argument is invalid when when converting in place")
    if not flags.in_place and not target:
        raise ValueError(lacking)
    return target or source


def _report(flags: argparse.Namespace, count: int, text: str, attention: dict[str, list[str]]) -> None:
    line = "-" * 80 + "\n"
    found = sum(map(len, attention.values()))
    summary = f"TensorFlow 2.0 Upgrade Script\n-----------------------------\nConverted {count} files\nDetected {found} issues that require attention\n{line}"
    summary += "".join(f"{line}File: {path}\n{line}" + "\n".join(messages) + "\n" for path, messages in attention.items() if messages)
    double = "=" * 80 + "\n"
    header = f"{double}Detailed log follows:\n\n{double}"
    with open(flags.report_filename, "w", encoding="utf-8") as file:
        file.write(summary + header + text)
    print(summary)
    if flags.print_all:
        print(header)
        print(text)
    print(f"\nMake sure to read the detailed log {flags.report_filename!r}\n")


if __name__ == "__main__":
    sys.exit(main())
