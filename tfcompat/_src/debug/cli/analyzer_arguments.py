"""The arguments of the analyzer's commands."""

from __future__ import annotations

import argparse
from typing import Any

from tfcompat._src.debug.cli.command_parser import CommandArguments, get_print_tensor_argparser

SORT_TENSORS_BY_TIMESTAMP = "timestamp"
SORT_TENSORS_BY_DUMP_SIZE = "dump_size"
SORT_TENSORS_BY_OP_TYPE = "op_type"
SORT_TENSORS_BY_TENSOR_NAME = "tensor_name"
_SORTED_BY = (SORT_TENSORS_BY_TIMESTAMP, SORT_TENSORS_BY_DUMP_SIZE, SORT_TENSORS_BY_OP_TYPE, SORT_TENSORS_BY_TENSOR_NAME)

_EVAL = """Evaluate an arbitrary expression. Can use tensor values from the current debug dump. The debug tensor names should be
enclosed in pairs of backticks. Expressions with spaces should be enclosed in a pair of double quotes or a pair of single quotes.
By default, numpy is imported as np and can be used in the expressions. E.g.,
1) eval np.argmax(`Softmax:0`),
2) eval 'np.sum(`Softmax:0`, axis=1)',
3) eval "np.matmul((`output/Identity:0`/`Softmax:0`).T, `Softmax:0`)"."""
_EXPRESSION = """Expression to be evaluated.
1) in the simplest case, use <node_name>:<output_slot>, e.g., hidden_0/MatMul:0.
2) if the default debug op "DebugIdentity" is to be overridden, use <node_name>:<output_slot>:<debug_op>, e.g.,
hidden_0/MatMul:0:DebugNumericSummary.
3) if the tensor of the same name exists on more than one device, use <device_name>:<node_name>:<output_slot>[:<debug_op>], e.g.,
/job:worker/replica:0/task:0/gpu:0:hidden_0/MatMul:0 /job:worker/replica:0/task:2/cpu:0:hidden_0/MatMul:0:DebugNanCount.
4) if the tensor is executed multiple times in a given `Session.run` call, specify the execution index with a 0-based integer
enclose in a pair of brackets at the end, e.g., RNN/tanh:0[0] /job:worker/replica:0/task:0/gpu:0:RNN/tanh:0[0]."""


def analyzer_arguments(depth: int) -> dict[str, argparse.ArgumentParser]:
    """The arguments of each command, by its name; `depth` is how far trees of nodes go where a command does not say."""
    return {
        "list_tensors": _list_tensors(),
        "node_info": _node_info(),
        "list_inputs": _neighbors("Show inputs to a node.", "inputs to", "input", "input nodes", depth),
        "list_outputs": _neighbors(
            "Show the nodes that receive the outputs of given node.", "recipients of", "output", "recipient nodes", depth
        ),
        "print_tensor": get_print_tensor_argparser("Print the value of a dumped tensor."),
        "print_source": _print_source(),
        "list_source": _list_source(),
        "eval": _eval(),
    }


def add_text(arguments: argparse.ArgumentParser, *names: str, help: str, **settings: Any) -> None:
    """Adds an option that takes a text, by default an empty one."""
    arguments.add_argument(*names, default="", help=help, **settings)


def _list_tensors() -> argparse.ArgumentParser:
    arguments = CommandArguments("List dumped intermediate tensors.")
    add_text(arguments, "-f", "--tensor_filter", help="List only Tensors passing the filter of the specified name")
    excluded = (
        "When applying the tensor filter, exclude node with names matching the regular expression. "
        "Applicable only if --tensor_filter or -f is used."
    )
    add_text(arguments, "-fenn", "--filter_exclude_node_names", help=excluded)
    add_text(arguments, "-n", "--node_name_filter", help="filter node name by regex.")
    add_text(arguments, "-t", "--op_type_filter", help="filter op type by regex.")
    by = "the field to sort the data by: (%s)" % " | ".join(_SORTED_BY)
    arguments.add_argument("-s", "--sort_by", default=SORT_TENSORS_BY_TIMESTAMP, help=by)
    arguments.add_argument("-r", "--reverse", action="store_true", help="sort the data in reverse (descending) order")
    return arguments


def _node_info() -> argparse.ArgumentParser:
    arguments = CommandArguments("Show information about a node.")
    add = arguments.add_argument
    add("node_name", help="Name of the node or an associated tensor, e.g., hidden1/Wx_plus_b/MatMul, hidden1/Wx_plus_b/MatMul:0")
    add("-a", "--attributes", action="store_true", help="Also list attributes of the node.")
    add("-d", "--dumps", action="store_true", help="Also list dumps available from the node.")
    traceback = "Also include the traceback of the node's creation (if available in Python)."
    add("-t", "--traceback", action="store_true", help=traceback)
    return arguments


def _neighbors(description: str, shown: str, tree: str, typed: str, depth: int) -> argparse.ArgumentParser:
    arguments = CommandArguments(description)
    add = arguments.add_argument
    name = "Name of the node or an output tensor from the node, e.g., hidden1/Wx_plus_b/MatMul, hidden1/Wx_plus_b/MatMul:0"
    add("node_name", help=name)
    add("-c", "--control", action="store_true", help="Include control inputs.")
    add("-d", "--depth", type=int, default=depth, help="Maximum depth of recursion used when showing the %s tree." % tree)
    recursive = "Show %s the node recursively, i.e., the %s tree." % (shown, tree)
    add("-r", "--recursive", action="store_true", help=recursive)
    add("-t", "--op_type", action="store_true", help="Show op types of %s." % typed)
    return arguments


def _print_source() -> argparse.ArgumentParser:
    description = (
        "Print a Python source file with overlaid debug information, including the nodes (ops) or Tensors created at the source lines."
    )
    arguments = CommandArguments(description)
    add = arguments.add_argument
    add("source_file_path", help="Path to the source file.")
    add("-t", "--tensors", action="store_true", help="Label lines with dumped Tensors, instead of ops.")
    add("-m", "--max_elements_per_line", type=int, default=10, help="Maximum number of elements (ops or Tensors) to show per source line.")
    add("-b", "--line_begin", type=int, default=1, help="Print source beginning at line number (1-based.)")
    return arguments


def _list_source() -> argparse.ArgumentParser:
    arguments = CommandArguments("List source files responsible for constructing nodes and tensors present in the run().")
    add_text(arguments, "-p", "--path_filter", help="Regular expression filter for file path.")
    add_text(arguments, "-n", "--node_name_filter", help="Regular expression filter for node name.")
    return arguments


def _eval() -> argparse.ArgumentParser:
    arguments = CommandArguments(_EVAL)
    arguments.add_argument("expression", help=_EXPRESSION)
    everything = "Print the tensor in its entirety, i.e., do not use ellipses (may be slow for large results)."
    arguments.add_argument("-a", "--all", dest="print_all", action="store_true", help=everything)
    add_text(arguments, "-w", "--write_path", help="Path of the numpy file to write the evaluation result to, using numpy.save()")
    return arguments
