"""Internal names of `tensorflow.python.framework.ops` that no other module of tfcompat defines."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from tfcompat._src.base import errors
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.base.default_stack import GRAPHS, SESSIONS
from tfcompat._src.base.device import canonical_name
from tfcompat._src.base.dtypes import DType, as_dtype
from tfcompat._src.base.export import export
from tfcompat._src.base.gradient_registry import GRADIENTS
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor, internal_convert_to_tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.proto import messages

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike

_UIDS = itertools.count(1)
# Private names of 1.15 that libraries read.
_gradient_registry = GRADIENTS
_default_session_stack = SESSIONS
_default_graph_stack = GRAPHS
_TensorLike = (Tensor, SparseTensor, IndexedSlices)


def uid() -> int:
    """Returns a number that is unique in this process."""
    return next(_UIDS)


def get_name_scope() -> str:
    """Returns the current name scope of the default graph, without a slash at the end."""
    return get_default_graph().get_name_scope()


class RegisterShape:
    """A decorator without effect, as in 1.15, which takes the shape function from the op's registration."""

    def __init__(self, op_type: str) -> None:
        self._op_type = op_type

    def __call__(self, f: Callable[..., Any]) -> Any:
        return f


def _set_call_cpp_shape_fn(call_cpp_shape_fn: Callable[..., Any]) -> None:
    """Does nothing, since each op has its own shape function."""


class NullContextmanager:
    """A context manager that does nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Accepts and ignores any arguments, as in 1.15."""

    def __enter__(self) -> None:
        """Does nothing."""

    def __exit__(self, type_arg: object, value_arg: object, traceback_arg: object) -> Literal[False]:
        return False


@export("compat.v2.name_scope", "compat.v2.keras.backend.name_scope")
class name_scope_v2:  # noqa: N801
    """A reentrant context manager for a name scope of the default graph; `name` is its name.

    Raises:
      ValueError: `name` is not a string.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ValueError("name for name_scope must be a string.")
        self.name = name
        # A stack of entered scopes makes the object reentrant. Each entry makes a new unique name.
        self._entered: list[contextlib.AbstractContextManager[str]] = []

    def __enter__(self) -> str:
        self._entered.append(get_default_graph().name_scope(self.name))
        return self._entered[-1].__enter__()

    def __exit__(self, *exception: Any) -> None:
        self._entered.pop().__exit__(*exception)


def tensor_id(tensor: Tensor) -> int:
    """Returns a number that is unique among live tensors."""
    return id(tensor)


def name_from_scope_name(name: str) -> str:
    """Returns the name of an operation whose `name` argument is a scope: "a/b" for "a/b/"."""
    return name.removesuffix("/") if name else name


def inside_function() -> bool:
    """Whether the default graph is the body of a function."""
    return get_default_graph().building_function


def default_session(session: SessionLike) -> contextlib.AbstractContextManager[Any]:
    """Returns a context manager that makes `session` the default session."""
    return SESSIONS.entered(session)


@export("compat.v2.device")
def device_v2(device_name: object) -> contextlib.AbstractContextManager[None]:
    """Returns a context manager that places operations on a device, as `tf.device` of TensorFlow 2 does.

    Raises:
      RuntimeError: `device_name` is a function.
    """
    if callable(device_name):
        raise RuntimeError("tf.device does not support functions.")
    return get_default_graph().device(device_name)


@export("compat.v2.convert_to_tensor")
def convert_to_tensor_v2(value: object, dtype: Any = None, dtype_hint: Any = None, name: str | None = None) -> Tensor:
    """Converts a value to a tensor, as `tf.convert_to_tensor` of TensorFlow 2 does."""
    return convert_to_tensor(value, dtype, name, dtype_hint)


def internal_convert_n_to_tensor(
    values: Sequence[Any], dtype: Any = None, name: str | None = None, as_ref: bool = False, preferred_dtype: Any = None
) -> list[Tensor]:
    """Converts a list of values to tensors, named `name_0`, `name_1`, and so on.

    Raises:
      TypeError: `values` is not a sequence.
    """
    if not isinstance(values, Sequence):
        raise TypeError("values must be a sequence.")
    return [
        internal_convert_to_tensor(value, dtype, None if name is None else f"{name}_{i}", as_ref, preferred_dtype)
        for i, value in enumerate(values)
    ]


def internal_convert_to_tensor_or_composite(
    value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None, as_ref: bool = False
) -> Any:
    """Converts a value to a tensor, unless it is a composite tensor, which is returned unchanged.

    Raises:
      ValueError: a composite tensor has another dtype.
    """
    if not isinstance(value, CompositeTensor):
        return internal_convert_to_tensor(value, dtype, name, as_ref)
    have: DType = value.dtype  # type: ignore[attr-defined]  # all of TensorFlow's have one
    if dtype and not as_dtype(dtype).is_compatible_with(have):
        raise ValueError(f"Tensor conversion requested dtype {as_dtype(dtype).name} for Tensor with dtype {have.name}: {value!r}")
    return value


def convert_to_tensor_or_composite(value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """Converts a value to a tensor, unless it is a composite tensor, which is returned unchanged."""
    return internal_convert_to_tensor_or_composite(value, dtype, name)


def internal_convert_n_to_tensor_or_composite(
    values: Sequence[Any], dtype: DTypeLike | None = None, name: str | None = None, as_ref: bool = False
) -> list[Any]:
    """Converts a list of values to tensors, named `name_0`, `name_1`, and so on; composite tensors and None stay.

    Raises:
      TypeError: `values` is not a sequence.
    """
    if not isinstance(values, Sequence):
        raise TypeError("values must be a sequence.")
    return [
        None
        if value is None
        else internal_convert_to_tensor_or_composite(value, dtype, None if name is None else f"{name}_{i}", as_ref)
        for i, value in enumerate(values)
    ]


def convert_n_to_tensor_or_composite(values: Sequence[Any], dtype: DTypeLike | None = None, name: str | None = None) -> list[Any]:
    """Converts a list of values to tensors, named `name_0`, `name_1`, and so on; composite tensors and None stay."""
    return internal_convert_n_to_tensor_or_composite(values, dtype, name)


def _NodeDef(op_type: str, name: str, device: Any = None, attrs: Mapping[str, Any] | None = None) -> Any:  # noqa: N802
    """Makes a NodeDef message; `device` is a name or a function of the NodeDef."""
    node = messages.NodeDef(op=op_type, name=name)
    for key, value in (attrs or {}).items():
        node.attr[key].CopyFrom(value)
    if device is not None:
        node.device = device(node) if callable(device) else canonical_name(device)
    return node


def _create_c_op(graph: Graph, node_def: messages.NodeDef, inputs: Sequence[Any], control_inputs: Sequence[Operation]) -> Operation:
    """Adds the operation that a NodeDef describes to a graph.

    Args:
      inputs: one tensor for each input argument of the op, a list of tensors for a list argument.

    Raises:
      ValueError: tfcompat has no such op type, or the inputs do not fit it.
    """
    spec = op_spec.find(node_def.op)
    if spec is None:
        raise ValueError(f"Op type not registered '{node_def.op}' in this process, which the node {node_def.name!r} needs.")
    if len(inputs) != len(spec.signature.inputs):
        raise ValueError(
            f"{len(inputs)} inputs specified of {len(spec.signature.inputs)} inputs in Op while building NodeDef '{node_def.name}' of type {node_def.op}"
        )
    # A trailing slash makes the name absolute: it is taken as it is, outside of the current scope.
    flat = [tensor for value in inputs for tensor in (value if isinstance(value, (list, tuple)) else [value])]
    try:
        op = graph.create_op(node_def.op, flat, name=node_def.name + "/", attrs=dict(node_def.attr))
    except errors.InvalidArgumentError as e:
        raise ValueError(str(e)) from None
    # The rest of the NodeDef, which `create_op` does not take.
    for control_input in control_inputs:
        op._add_control_input(control_input)
    if node_def.device:
        op._set_device(node_def.device)
    return op


def _assert_same_graph(original_item: Any, item: Any) -> None:
    """Raises ValueError if two operations or tensors are not in the same graph."""
    if original_item.graph is not item.graph:
        raise ValueError(f"{item} must be from the same graph as {original_item}.")


def set_shape_and_handle_data_for_outputs(unused_op: Any) -> None:
    """Does nothing: shapes and handle data are inferred when an operation is made."""
