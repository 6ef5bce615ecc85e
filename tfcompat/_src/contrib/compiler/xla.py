"""tf.xla.experimental.compile: a computation that XLA compiles as one; here every program is compiled, and nodes say what 1.15's say."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import nest
from tfcompat._src.base.export import export
from tfcompat._src.function.def_function import function
from tfcompat._src.graph.op_spec import op
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, device, executing_eagerly, get_default_graph
from tfcompat._src.graph.shape_inference import unchanged
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.control.context import XLAControlFlowContext, contains
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.platform import logging
from tfcompat._src.variables.scope import get_variable_scope

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_ATTRIBUTE = "_xla_compile_id"
_NOT_COMPILED = frozenset(("Placeholder",))
_NOT_SUPPORTED = frozenset(
    ("AudioSummary", "AudioSummaryV2", "HistogramSummary", "ImageSummary", "MergeSummary", "Print", "ScalarSummary", "TensorSummary",
     "TensorSummaryV2")
)  # fmt: skip


def _no_gradient(node: Operation, *grads: Any) -> None:
    raise RuntimeError(
        "Gradient computation of graph in xla.compile() is prohibited because it can cause performance degradation. Move gradient "
        "computation inside xla.compile()."
    )


op("XlaClusterOutput", "(input: T, *, T: type) -> (outputs: T)", shape=unchanged, gradient=_no_gradient, kernel=lambda x: x)


class XLACompileContext(XLAControlFlowContext):
    """The nodes of one computation: they carry its name, and run after `pivot`."""

    def __init__(self, name: str, pivot: Operation) -> None:
        super().__init__()
        self._name, self._pivot = name, pivot

    def GetControlPivot(self) -> Operation:
        return self._pivot

    def AddOp(self, op: Operation) -> None:
        """Marks a node made inside.

        Raises:
          NotImplementedError: it takes a reference variable. ValueError: it is inside another computation.
        """
        if op.type in _NOT_COMPILED | _NOT_SUPPORTED:
            logging.error(f"Operation of type {op.type} ({op.name}) is not supported in XLA. Execution will fail if this op is used.")
        if any(t.dtype._is_ref_dtype for t in op.inputs):
            raise NotImplementedError(f"Non-resource Variables are not supported inside XLA computations (operator name: {op.name})")
        if _ATTRIBUTE in op.attrs:
            raise ValueError(f"XLA compiled computations cannot be nested, (operator name: {op.name})")
        op._set_attr(_ATTRIBUTE, self._name.encode())
        inside = [c for c in op.control_inputs if contains(self, c)]
        if len(inside) < len(op.control_inputs):
            op._set_control_inputs(inside)
        if not op.inputs and not inside:
            op._add_control_input(self._pivot)
        self._mark_made(op)
        for tensor in op.outputs:
            op.graph.prevent_feeding(tensor)


@export("xla.experimental.compile", "contrib.compiler.xla.compile")
def compile(computation: Callable, inputs: list[Any] | None = None) -> Any:
    """Builds `computation(*inputs)` as one cluster.

    Args:
      computation: gives None, an operation, a value, a list of values with operations after them, or a structure of values.
      inputs: its arguments, structures of values that become tensors.

    Returns:
      The values as tensors: a list where they are one or a flat list, else in their structure; an operation where there are
      none. Operations that the computation gives run before them.

    Raises:
      TypeError: `inputs` is no list. ValueError: a result cannot be a tensor, an operation comes before a value, or stands in
      a structure. RuntimeError: when a gradient through the computation is asked for.
    """
    if executing_eagerly():
        return function(lambda: _compiled(computation, inputs))()
    return _compiled(computation, inputs)


def _compiled(computation: Callable, inputs: list[Any] | None) -> Any:
    inputs = [] if inputs is None else inputs
    if not isinstance(inputs, list):
        raise TypeError("inputs must be a list")
    given = nest.map_structure(convert_to_tensor, inputs)
    name = get_default_graph().unique_name("cluster")
    context = XLACompileContext(name, no_op(name=name + "/pivot"))
    scope = get_variable_scope()
    uses_resource = scope.use_resource
    context.Enter()
    try:
        named = [raw.Identity(x, name=f"input_{i}") for i, x in enumerate(nest.flatten(given))]
        scope.set_use_resource(True)
        results = computation(*nest.pack_sequence_as(inputs, named))
        values, before = _flat(results) if _is_flat(results) else (_nested(results), [])
        context.ExitResult(values)
    finally:
        context.Exit()
        scope.set_use_resource(uses_resource)
    found = [raw.XlaClusterOutput(x, name=f"output{i}") for i, x in enumerate(values)]
    with control_dependencies(before):
        if not found:
            return group(*before, name="output_0")
        found = [raw.Identity(x, name=f"output_{i}") for i, x in enumerate(found)]
    return found if _is_flat(results) else nest.pack_sequence_as(results, found)


def _is_flat(results: object) -> bool:
    """Whether results are one value or a list of values."""
    if isinstance(results, Mapping) or hasattr(results, "__attrs_attrs__"):
        return False
    is_list = isinstance(results, Sequence) and not isinstance(results, (str, bytes))
    return not is_list or not any(isinstance(r, (Sequence, Mapping)) or hasattr(r, "__attrs_attrs__") for r in results)


def _flat(results: object) -> tuple[list[Tensor], list[Operation]]:
    """The values of a flat result, and the operations after them with one that is always there."""
    results = () if results is None else results
    listed = [*(results if isinstance(results, Sequence) else (results,)), no_op()]
    values, operations = [], []
    for r in listed:
        if isinstance(r, Operation):
            operations.append(r)
        elif operations:
            raise ValueError("XLA computation function must return zero or more Tensor values followed by zero or more Operations.")
        else:
            values.append(_tensor(r))
    return [_identity(x) for x in values], operations


def _nested(results: object) -> list[Tensor]:
    found = []
    for r in nest.flatten(results):
        if isinstance(r, Operation):
            raise ValueError(
                "xla.compile does not support Operation as return value in non-flat output structure. You can set returned "
                "Operations as control dependencies of returned Tensors so Operations are triggered when Tensors are evaluated. "
                f'Operation found: "{r.name}"'
            )
        found.append(_identity(_tensor(r)))
    return found


def _tensor(value: TensorLike) -> Tensor:
    try:
        return convert_to_tensor(value)
    except (TypeError, ValueError) as e:
        raise ValueError(
            f'XLA computation function return values must all either be Operations or convertible to Tensors. Got error: "{e}"'
        ) from None


def _identity(x: Tensor) -> Tensor:
    with device(x.device or ""):
        return raw.Identity(x)


@export("contrib.compiler.xla.check_function_argument_count")
def check_function_argument_count(func: Callable, input_arity: int, infeed_queue: Any) -> str | None:
    """How many arguments a function wants, where it does not take `input_arity` and those of an infeed; else None."""
    given = input_arity + (0 if infeed_queue is None else infeed_queue.number_of_tuple_elements)
    wanted = inspect.getfullargspec(func)
    most = len(wanted.args) - inspect.ismethod(func)
    least = most - len(wanted.defaults or ())
    if given < least:
        exact = not wanted.defaults and wanted.varargs is None
        return _counted("exactly" if exact else "at least", least)
    if given > most and wanted.varargs is None:
        return _counted("at most" if wanted.defaults else "exactly", most)
    return None


def _counted(how: str, count: int) -> str:
    return f"{how} {count} argument{'' if count == 1 else 's'}"
