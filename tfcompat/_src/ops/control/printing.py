"""Ops that speak to the outside: Assert, Print, PrintV2, StringFormat, Timestamp, Abort."""

from __future__ import annotations

import os
import pprint
import random
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import checks, confinement, dtypes, errors, nest
from tfcompat._src.base.export import export
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NotDifferentiable, op
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.tensor_like import is_dense_tensor_like
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.control.summary_text import summarize, summarize_ends
from tfcompat._src.platform import file_io, logging

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_NO_OUTPUT = NotDifferentiable("it has no numeric output")


@op(
    "Assert",
    "(condition: bool, data: T, *, T: list(type) >= 1, summarize: int = 3) -> ()",
    shape=si.no_outputs,
    gradient=_NO_OUTPUT,
)
def _assert(condition, data, *, summarize):
    if condition.ndim > 1 or condition.size != 1:
        raise errors.InvalidArgumentError(None, None, f"In[0] should be a scalar: {list(condition.shape)}")
    checks.require(
        condition.reshape(()), lambda *values: "assertion failed: " + " ".join(_bracketed(values, summarize)), *data
    )
    return ()


def _bracketed(data: tuple, count: int) -> list[str]:
    return [f"[{summarize(np.asarray(d), count)}]" for d in data]


@op(
    "Print",
    '(input: T, data: U, *, T: type, U: list(type) >= 0, message: string = "", first_n: int = -1, summarize: int = '
    '3) -> (output: T)',
    shape=lambda c: [c.inputs[0]], gradient=lambda op, grad: [grad] + [None] * (len(op.inputs) - 1), effects=EXTERNAL,
    side=HOST,
    context=True,
)  # fmt: skip
def _print(context, x, data, *, message, first_n, summarize):
    if first_n >= 0:
        key = f"Print/{context.op.name}"
        if context.run.resources.get(key, 0) >= first_n:
            return x
        context.run.resources[key] = context.run.resources.get(key, 0) + 1
    print(message + "".join(_bracketed(data, summarize)), file=sys.stderr, flush=True)
    return x


@export("Print")
def Print(
    input_: TensorLike, data: list, message: str | None = None, first_n: int | None = None, summarize: int | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """The value of `input_`; when computed, prints `data` to standard error.

    Args:
      input_: a tensor.
      data: list of tensors to print.
      message: text before them.
      first_n: how many times to print; by default always.
      summarize: how many entries of each tensor to print, 3 by default; negative for all.
      name: node name.
    """
    return raw.Print(input_, data, message=message, first_n=first_n, summarize=summarize, name=name)


def _format_shape(c):
    places = c.attr("template").count(c.attr("placeholder"))
    if places != len(c.inputs):
        raise ValueError(f"num placeholders in template and num inputs must match: {places} vs. {len(c.inputs)}")
    return [()]


@op(
    "StringFormat",
    '(inputs: T, *, T: list(type) >= 0, template: string = "%s", placeholder: string = "%s", summarize: int = 3) '
    '-> (output: string)',
    shape=_format_shape, gradient=_NO_OUTPUT, side=HOST,
)  # fmt: skip
def _string_format(inputs, *, template, placeholder, summarize):
    parts = template.encode("latin-1").decode("utf-8", "replace").split(placeholder)
    shown = [summarize_ends(np.asarray(x), summarize) for x in inputs]
    text = parts[0] + "".join(s + p for s, p in zip(shown, parts[1:]))
    return np.array(text.encode(), object)


def _to_file(path: str, text: str) -> None:
    with file_io.opened(path, "ab") as file:
        file.write(text.encode())


_LOG_LEVELS = {"log(info)": logging.info, "log(warning)": logging.warning, "log(error)": logging.error}


@op(
    "PrintV2", '(input: string, *, output_stream: string = "stderr", end: string = "\\n") -> ()', shape=si.no_outputs,
    gradient=_NO_OUTPUT, effects=EXTERNAL, side=HOST,
)  # fmt: skip
def _print_v2(text, *, output_stream, end):
    value = np.asarray(text)[()]
    line = (value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)) + end
    if output_stream.startswith("file://"):
        _to_file(output_stream[len("file://") :], line)
    elif output_stream in _LOG_LEVELS:
        _LOG_LEVELS[output_stream]("%s", line)
    elif output_stream in ("stdout", "stderr"):
        print(line, end="", file=getattr(sys, output_stream), flush=True)
    else:
        raise errors.InvalidArgumentError(None, None, f"Unknown output stream: {output_stream}")
    return ()


def _stream_name(stream: object) -> str:
    if isinstance(stream, str) and stream.startswith("file://"):
        return stream
    known = [
        (sys.stdout, "stdout"), (sys.stderr, "stderr"), (logging.INFO, "log(info)"), (logging.info, "log(info)"),
        (logging.WARN, "log(warning)"), (logging.warning, "log(warning)"), (logging.warn, "log(warning)"),
        (logging.ERROR, "log(error)"), (logging.error, "log(error)"),
    ]  # fmt: skip
    for value, name in known:
        if stream is value or isinstance(stream, int) and stream == value:
            return name
    raise ValueError(
        f"Unsupported output stream, logging level, or file.{stream}. Supported streams are sys.stdout, sys.stderr, "
        "tf.logging.info, tf.logging.warning, tf.logging.error. File needs to be in the form of 'file://<filepath>'."
    )


def _unused_placeholder(text: str) -> str:
    """`{}`, made longer until it does not occur in `text`."""
    found, digits = "{}", random.Random(5)
    while found in text:
        found += str(digits.randint(0, 9))
    return found


def _is_tensor(value: object) -> bool:
    return is_dense_tensor_like(value) or isinstance(value, SparseTensor)


def _template(inputs: tuple, sep: str) -> tuple[str, str, list]:
    """The text with placeholders for the tensors in `inputs`, the placeholder, and the tensors."""
    plain = nest.map_structure(lambda x: "" if _is_tensor(x) else x, inputs)
    mark, tensors, texts = _unused_placeholder(" ".join(pprint.pformat(x) for x in plain)), [], []
    for value in inputs:
        marks = []
        for x in nest.flatten(value):
            if isinstance(x, SparseTensor):
                tensors += [x.indices, x.values, x.dense_shape]
                marks.append(f"SparseTensor(indices={mark}, values={mark}, shape={mark})")
            elif _is_tensor(x):
                tensors.append(x)
                marks.append(mark)
            else:
                marks.append(x)
        texts.append(value if isinstance(value, str) else pprint.pformat(nest.pack_sequence_as(value, marks)))
    return sep.join(texts).replace(f"'{mark}'", mark), mark, tensors


@export("print")
def print_v2(*inputs: Any, **kwargs: Any) -> Operation:
    """An operation that prints `inputs` when it runs.

    Args:
      *inputs: tensors, Python values, or nested structures of them.
      **kwargs: `output_stream` (sys.stderr by default, sys.stdout, a logging level or function, or "file://path"),
        `summarize` (first and last entries shown in each dimension, 3 by default, -1 for all), `sep`, `end`, `name`.

    Raises:
      ValueError: another keyword argument or output stream.
    """
    stream, name = kwargs.pop("output_stream", sys.stderr), kwargs.pop("name", None)
    count, sep, end = kwargs.pop("summarize", 3), kwargs.pop("sep", " "), kwargs.pop("end", os.linesep)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    target = _stream_name(stream)
    first = inputs[0] if len(inputs) == 1 else None
    if is_dense_tensor_like(first) and first.shape.ndims == 0 and first.dtype == dtypes.string:
        text = first
    else:
        template, mark, tensors = _template(inputs, sep)
        text = raw.StringFormat(
            tensors, template=template, placeholder=mark, summarize=count, name=name and f"{name}_format"
        )
    return raw.PrintV2(text, output_stream=target, end=end, name=name)


op(
    "Timestamp", "() -> (ts: float64)", shape=si.scalar, gradient=NotDifferentiable("time does not depend on the "
    "graph"),
    kernel=lambda: np.float64(time.time()), effects=EXTERNAL, side=HOST,
)  # fmt: skip


@export("timestamp")
def timestamp(name: str | None = None) -> Tensor:
    """Seconds since 1970 as a float64, taken when the operation runs."""
    return raw.Timestamp(name=name)


@op("Abort", '(*, error_msg: string = "", exit_without_error: bool = False) -> ()', shape=si.no_outputs,
    gradient=_NO_OUTPUT, effects=EXTERNAL, side=HOST)  # fmt: skip
def _abort(*, error_msg, exit_without_error):
    confinement.require_unconfined("the op Abort, which ends the process,")
    if exit_without_error:
        os._exit(0)
    print(f"Abort_op intentional failure; {error_msg}", file=sys.stderr, flush=True)
    os.abort()
