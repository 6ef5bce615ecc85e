"""Adds an op to the graph from Python values: converts inputs, infers and checks attributes, names the node.

Error messages are those of 1.15's op_def_library, which programs and tests compare.
"""

from __future__ import annotations

import collections
import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import attr_values, variant
from tfcompat._src.graph.op_spec import OpSpec
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph, graph_from_inputs, keras_graph_of
from tfcompat._src.graph.signature import REQUIRED, Arg, Attr
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import op_callbacks
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.proto import messages

if TYPE_CHECKING:
    from tfcompat._src.graph.graph import Graph

_NOWHERE = contextlib.nullcontext()


def apply_op(spec: OpSpec, inputs: list[Any], attrs: dict[str, Any], name: str | None, skip_frames: int = 3) -> Any:
    """Adds a node, or runs the op in eager mode, and returns its outputs.

    Args:
      spec: the op type.
      inputs: one Python value per input of the signature.
      attrs: the given attributes; the others are inferred from the inputs or have defaults.
      name: the node's name; by default the op type.
      skip_frames: number of innermost stack frames to leave out of the node's traceback.

    Returns:
      a Tensor, a list or named tuple of them, or the Operation if it has no outputs (None in eager mode).

    Raises:
      TypeError, ValueError: an input or attribute does not fit the signature.
    """
    graph = get_default_graph()
    if graph.executes:
        elements = (e for value in inputs for e in (value if isinstance(value, (list, tuple)) else (value,)))
        # In eager mode, symbolic tensors of a Keras model make the op a node of the model's graph.
        keras_graph = keras_graph_of(e for e in elements if isinstance(e, Tensor))
        if keras_graph is None:
            return _apply_eagerly(graph, spec, inputs, attrs, name)
        with keras_graph.as_default():
            return apply_op(spec, inputs, attrs, name, skip_frames + 1)
    # As in 1.15, a node goes to the graph of its inputs, whichever graph is the default one.
    other = _foreign_graph(inputs, graph)
    if other is not None:
        with other.as_default():
            return apply_op(spec, inputs, attrs, name, skip_frames + 1)
    # A name that ends with "/" is taken as it is, as in 1.15; any other one is made unique in the current name scope.
    name = name.decode() if isinstance(name, bytes) else name or spec.name
    scope = name[:-1] if name.endswith("/") else _unique_scope(graph, name)
    node_attrs = {k: _convert_attr(spec, spec.signature.attrs[k], v) for k, v in attrs.items() if k in spec.signature.attrs}
    # Constants made from inputs get names below the node's, as "Add/y".
    scope_before, graph._name_stack = graph._name_stack, scope
    try:
        tensors_in = _convert_inputs(spec, inputs, node_attrs)
        _complete_attrs(spec, node_attrs)
        with _beside_refs(graph, spec, tensors_in):
            op = graph.make_op(spec, scope, tensors_in, node_attrs, skip_frames=skip_frames)
    finally:
        graph._name_stack = scope_before
    return results(op)


def _apply_eagerly(graph: Graph, spec: OpSpec, inputs: list[Any], attrs: dict[str, Any], name: str | None) -> Any:
    """Runs an operation and returns its outputs, or None if it has none.

    Raises:
      RuntimeError: the op takes or returns references, which exist in graphs only. errors.OpError: the operation fails.
    """
    ref = next((a.name for a in (*spec.signature.inputs, *spec.signature.outputs) if a.is_ref), None)
    if ref is not None:
        raise RuntimeError(f"{spec.name} op does not support eager execution. Arg {ref!r} is a ref.")
    node_attrs = {k: _convert_attr(spec, spec.signature.attrs[k], v) for k, v in attrs.items() if k in spec.signature.attrs}
    tensors_in = _convert_inputs(spec, inputs, node_attrs)
    _complete_attrs(spec, node_attrs)
    try:
        op = graph.make_op(spec, name or spec.name, tensors_in, node_attrs)
    except errors.OpError as e:
        if spec.node_class is None:
            e.at_call(spec.name, name)
        raise
    values = results(op)
    return None if values is op else values


@contextlib.contextmanager
def _colocated(graph: Graph, tensors: list[Tensor]) -> Iterator[None]:
    """A block whose nodes are colocated with all of these tensors' nodes."""
    with contextlib.ExitStack() as exits:
        for tensor in tensors:
            exits.enter_context(graph.colocate_with(tensor.op))
        yield


def _beside_refs(graph: Graph, spec: OpSpec, tensors: list[Tensor]) -> contextlib.AbstractContextManager[None]:
    """A block that colocates a node with the variables that it takes by reference."""
    # As in 1.15: an assignment runs where its variable is.
    refs = [t for t, arg in zip(tensors, spec.signature.inputs) if arg.is_ref]
    return _colocated(graph, refs) if refs else _NOWHERE


def _unique_scope(graph: Graph, name: str) -> str:
    with graph.name_scope(name) as scope:
        return scope[:-1]


def _foreign_graph(inputs: list[Any], default: Graph) -> Graph | None:
    """Returns the graph of the inputs if it is not the default one.

    Raises:
      ValueError: inputs belong to different graphs. RuntimeError: an input is an eager tensor.
    """
    # The body of a function captures tensors of other graphs instead.
    if default.building_function:
        return None
    for value in inputs:
        for element in value if isinstance(value, (list, tuple)) else (value,):
            graph = getattr(element, "graph", None)
            if graph is not None and graph is not default:
                if getattr(graph, "executes", False):
                    raise RuntimeError("Attempting to capture an EagerTensor without building a function.")
                flat = [e for v in inputs for e in (v if isinstance(v, (list, tuple)) else (v,))]
                graph_of_inputs = graph_from_inputs(flat)
                return None if graph_of_inputs is default else graph_of_inputs
    return None


# ---- inputs ----


def _convert_inputs(spec: OpSpec, values: list[Any], attrs: dict[str, Any]) -> list[Tensor]:
    """Converts input values to tensors and records in `attrs` the attributes that they determine."""
    tensors: list[Tensor] = []
    first_use: dict[str, str] = {}
    # In order of the signature: the first input of a type attribute decides it, later ones must agree.
    for arg, value in zip(spec.signature.inputs, values):
        if arg.type_list_attr and not arg.number_attr:
            tensors.extend(_convert_tuple(spec, arg, value, attrs))
        elif arg.number_attr:
            tensors.extend(_convert_list(spec, arg, value, attrs, first_use))
        else:
            tensors.append(_convert_single(spec, arg, value, attrs, first_use))
    return tensors


def _convert_single(spec: OpSpec, arg: Arg, value: object, attrs: dict[str, Any], first_use: dict[str, str]) -> Tensor:
    """Converts the value of an input that is one tensor; checks its dtype against attributes or earlier inputs."""
    wanted = arg.dtype if arg.dtype is not None else attrs.get(arg.type_attr)
    # The default of an open type attribute is only tried: a value that does not fit it decides the dtype itself.
    preferred = None
    if wanted is None and arg.type_attr:
        default = spec.signature.attrs[arg.type_attr].default
        preferred = default if default is not REQUIRED else None
    if isinstance(value, Tensor):
        tensor = value
    else:
        tensor = _convert_value(spec, arg, value, wanted, preferred)
    dtype = tensor.dtype.base_dtype
    if wanted is not None and dtype is not wanted:
        raise TypeError(_mismatch(spec, arg, dtype, wanted, first_use))
    if wanted is None and arg.type_attr:
        _check_allowed_dtype(spec, arg, spec.signature.attrs[arg.type_attr], dtype)
        attrs[arg.type_attr] = dtype
        first_use[arg.type_attr] = arg.name
    if arg.is_ref and not tensor.dtype._is_ref_dtype:
        raise TypeError(
            f"'{spec.name}' Op requires that input '{arg.name}' be a mutable tensor (e.g.: a tf.Variable)"
        )
    return tensor


def _convert_value(spec: OpSpec, arg: Arg, value: object, wanted: dtypes.DType | None, preferred: dtypes.DType | None) -> Tensor:
    """Converts a value to a tensor of the wanted dtype, with the op and parameter named in errors."""
    try:
        return to_tensor(value, wanted, arg.name, arg.is_ref, preferred)
    except TypeError as e:
        if wanted is None:
            raise
        raise TypeError(
            f"Expected {wanted.name} passed to parameter '{arg.name}' of op '{spec.name}', got {value!r} of type "
            f"'{type(value).__name__}' instead. Error: {e}"
        ) from None
    except ValueError:
        if wanted is None:
            raise ValueError(f"Tried to convert '{arg.name}' to a tensor and failed. Error: {_reason(value)}") from None
        # A value with a dtype of its own that converts without a wanted dtype has the wrong dtype: 1.15 raises TypeError for that.
        found = to_tensor(value, None, arg.name, arg.is_ref).dtype.base_dtype if hasattr(value, "dtype") else None
        if found is None or found is wanted:
            raise
        raise TypeError(_mismatch(spec, arg, found, wanted, {})) from None


def _reason(value: object) -> str:
    """Returns why a value cannot be converted."""
    try:
        to_tensor(value)
    except ValueError as e:
        return str(e)
    return f"{value!r} has no tensor form"


def _mismatch(spec: OpSpec, arg: Arg, dtype: dtypes.DType, wanted: dtypes.DType, first_use: dict[str, str]) -> str:
    """Returns the message for an input whose dtype differs from the wanted one."""
    head = f"Input '{arg.name}' of '{spec.name}' Op has type {dtype.name} that does not match"
    if arg.type_attr in first_use:
        return f"{head} type {wanted.name} of argument '{first_use[arg.type_attr]}'."
    return f"{head} expected type of {wanted.name}."


def _convert_list(spec: OpSpec, arg: Arg, values: object, attrs: dict[str, Any], first_use: dict[str, str]) -> list[Tensor]:
    """Converts an `N*T` input: all elements have one dtype, which the first Tensor among them decides."""
    if not isinstance(values, (list, tuple)):
        raise TypeError(
            f"Expected list for '{arg.name}' argument to '{spec.name}' Op, not {values}."
        )
    wanted = arg.dtype if arg.dtype is not None else attrs.get(arg.type_attr)
    if wanted is None:
        # Python values take the dtype of the first tensor.
        wanted = next((v.dtype.base_dtype for v in values if isinstance(v, Tensor)), None)
    try:
        tensors = [
            to_tensor(value, None if isinstance(value, Tensor) else wanted, f"{arg.name}_{i}", arg.is_ref)
            for i, value in enumerate(values)
        ]
        kinds = {t.dtype.base_dtype for t in tensors}
    except (TypeError, ValueError) as error:
        raise TypeError(_list_mismatch(spec, arg, values, attrs)) from error
    if len(kinds | ({wanted} if wanted is not None else set())) > 1:
        raise TypeError(_list_mismatch(spec, arg, tensors, attrs))
    if wanted is None and tensors:
        wanted = tensors[0].dtype.base_dtype
    _set_length(spec, arg, len(tensors), attrs)
    if arg.type_attr and arg.type_attr not in attrs and wanted is not None:
        _check_allowed_dtype(spec, arg, spec.signature.attrs[arg.type_attr], wanted)
        attrs[arg.type_attr] = wanted
        first_use[arg.type_attr] = arg.name
    return tensors


def _list_mismatch(spec: OpSpec, arg: Arg, values: Sequence[Any], attrs: dict[str, Any]) -> str:
    """Returns the message for a list whose elements cannot all be converted to one dtype."""
    names = []
    for value in values:
        try:
            # Each element is converted on its own, only to name its dtype in the message.
            names.append(to_tensor(value, None, None, arg.is_ref).dtype.base_dtype.name)
        except (TypeError, ValueError):
            names.append("<NOT CONVERTIBLE TO TENSOR>")
    text = f"Tensors in list passed to '{arg.name}' of '{spec.name}' Op have types [{', '.join(names)}] that "
    if arg.dtype is not None:
        return f"{text}do not match expected type {arg.dtype.name}."
    if attrs.get(arg.type_attr) is not None:
        return f"{text}do not match type {attrs[arg.type_attr].name} inferred from earlier arguments."
    return f"{text}don't all match."


def _set_length(spec: OpSpec, arg: Arg, length: int, attrs: dict[str, Any]) -> None:
    """Records the length of a list input, and checks it against the minimum and other lists of the same length attribute."""
    minimum = spec.signature.attrs[arg.number_attr].minimum
    if minimum is not None and length < minimum:
        raise ValueError(
            f"List argument '{arg.name}' to '{spec.name}' Op with length {length} shorter than minimum length {minimum}."
        )
    if attrs.setdefault(arg.number_attr, length) != length:
        raise ValueError(
            f"List argument '{arg.name}' to '{spec.name}' Op with length {length} must match length "
            f"{attrs[arg.number_attr]} of the other lists."
        )


def _convert_tuple(spec: OpSpec, arg: Arg, values: object, attrs: dict[str, Any]) -> list[Tensor]:
    """Converts a `list(type)` input: each element has a dtype of its own."""
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"Expected list for '{arg.name}' argument to '{spec.name}' Op, not {values}.")
    # A given list of dtypes is a request; without it each element keeps its own.
    kinds = attrs.get(arg.type_list_attr) or [None] * len(values)
    tensors = [to_tensor(v, k, f"{arg.name}_{i}", arg.is_ref) for i, (v, k) in enumerate(zip(values, kinds))]
    attr = spec.signature.attrs[arg.type_list_attr]
    attrs[arg.type_list_attr] = [t.dtype.base_dtype for t in tensors]
    for dtype in attrs[arg.type_list_attr]:
        _check_allowed_dtype(spec, arg, attr, dtype)
    if attr.minimum is not None and len(tensors) < attr.minimum:
        raise ValueError(
            f"Attr '{arg.type_list_attr}' of '{spec.name}' Op passed list of length {len(tensors)} less than minimum {attr.minimum}."
        )
    return tensors


def _check_allowed_dtype(spec: OpSpec, arg: Arg, attr: Attr, dtype: dtypes.DType) -> None:
    if attr.allowed is not None and dtype not in attr.allowed:
        names = ", ".join(d.name for d in attr.allowed)
        raise TypeError(f"Value passed to parameter '{arg.name}' has DataType {dtype.name} not in list of allowed values: {names}")


# ---- attributes ----


def _bad(kind: str, attr: Attr, value: object) -> TypeError:
    return TypeError(f"Expected {kind} for argument '{attr.name}' not {value!r}.")


def _as_int(attr: Attr, value: Any) -> int:
    if hasattr(value, "value") and not isinstance(value, np.generic):
        value = value.value
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return int(value)
    except (TypeError, ValueError):
        raise _bad("int", attr, value) from None


def _as_float(attr: Attr, value: Any) -> float:
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except TypeError:
        raise _bad("float", attr, value) from None


def _as_bool(attr: Attr, value: object) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise _bad("bool", attr, value)
    return bool(value)


def _as_string(attr: Attr, value: object) -> bytes:
    if not isinstance(value, (str, bytes)):
        raise _bad("string", attr, value)
    return value.encode() if isinstance(value, str) else value


def _as_type(attr: Attr, value: object) -> dtypes.DType:
    try:
        return dtypes.as_dtype(value).base_dtype
    except TypeError:
        raise TypeError(f"Expected DataType for argument '{attr.name}' not {value!r}.") from None


def _as_shape(attr: Attr, value: object) -> TensorShape:
    try:
        shape = value if isinstance(value, TensorShape) else TensorShape(value)
    except (TypeError, ValueError) as e:
        kind = TypeError if isinstance(e, TypeError) else ValueError
        raise kind(f"Error converting {attr.name} to a TensorShape: {e}.") from None
    for size in shape.sizes or ():
        if size is not None and size >= 2**63:
            raise ValueError(f"Error converting {attr.name} to a TensorShape: Value out of range: {size}")
    return shape


def _as_array(attr: Attr, value: object) -> NDArray:
    if isinstance(value, messages.TensorProto):
        return variant.array_of(value)
    if not isinstance(value, np.ndarray):
        raise TypeError(f"Don't know how to convert {value!r} to a TensorProto for argument '{attr.name}'")
    return value


def _as_function(attr: Attr, value: object) -> attr_values.FunctionRef:
    if isinstance(value, attr_values.FunctionRef):
        return value
    if hasattr(value, "add_to_graph"):
        value.add_to_graph(get_default_graph())
    name = getattr(value, "name", value)
    if not isinstance(name, str):
        raise TypeError(f"Don't know how to convert {value!r} to a func for argument {attr.name}")
    return attr_values.FunctionRef(name)


_CONVERTERS: dict[str, Callable[[Attr, Any], Any]] = {
    "int": _as_int, "float": _as_float, "bool": _as_bool, "string": _as_string, "type": _as_type, "shape": _as_shape,
    "tensor": _as_array, "func": _as_function,
}  # fmt: skip


def _convert_attr(spec: OpSpec, attr: Attr, value: object) -> Any:
    """Returns an attribute's value in its internal form, checked; None means the default."""
    if value is None and attr.default is not REQUIRED:
        return attr_values.default_value(attr)
    convert = _CONVERTERS[attr.element_kind]
    if not attr.is_list:
        converted = convert(attr, value)
        _check_value(spec, attr, converted)
        return converted
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"Expected list for attr {attr.name}, obtained {type(value).__name__} instead.")
    converted = [convert(attr, v) for v in value]
    if attr.minimum is not None and len(converted) < attr.minimum:
        raise ValueError(
            f"Attr '{attr.name}' of '{spec.name}' Op passed list of length {len(converted)} less than minimum {attr.minimum}."
        )
    for v in converted:
        _check_value(spec, attr, v)
    return converted


def _check_value(spec: OpSpec, attr: Attr, value: Any) -> None:
    if attr.allowed is not None and value not in attr.allowed:
        if attr.element_kind == "string":
            listed = '", "'.join(v.decode() for v in attr.allowed)
            raise ValueError(f"Attr '{attr.name}' of '{spec.name}' Op passed string '{value.decode()}' not in: \"{listed}\".")
        names = ", ".join(d.name for d in attr.allowed)
        raise TypeError(f"Value passed to parameter '{attr.name}' has DataType {value.name} not in list of allowed values: {names}")
    if attr.minimum is not None and attr.kind == "int" and value < attr.minimum:
        raise ValueError(f"Attr '{attr.name}' of '{spec.name}' Op passed {value} less than minimum {attr.minimum}.")
    # The number of outputs is an int32 in TensorFlow.
    if attr.kind == "int" and value >= 2**31 and any(a.number_attr == attr.name for a in spec.signature.outputs):
        raise ValueError(f"Attr {attr.name} has value {value} out of range for an int32")


def _complete_attrs(spec: OpSpec, attrs: dict[str, Any]) -> None:
    """Fills in defaults; raises TypeError if a required attribute is missing."""
    for name, attr in spec.signature.attrs.items():
        if name not in attrs:
            if attr.default is REQUIRED:
                raise TypeError(f"Must specify attr '{name}' of op '{spec.name}': its inputs do not determine it.")
            attrs[name] = attr_values.default_value(attr)


# ---- results ----


def results(op: Operation) -> Any:
    """Returns the outputs of a node, grouped by its signature.

    A node without outputs is returned itself, and so is a stateful one whose only output is an empty list, as in 1.15.
    """
    args, outputs = op.spec.signature.outputs, op_callbacks.outputs_for(op)
    if not args:
        return op
    if len(args) == 1 and not args[0].is_list:
        return outputs[0]
    # Outputs are grouped by the signature: a list for each argument that is one, else a single tensor.
    values, start = [], 0
    for arg in args:
        count = op.arg_length(arg)
        values.append(outputs[start : start + count] if arg.is_list else outputs[start])
        start += count
    if len(args) == 1:
        return values[0] if values[0] or not getattr(op, "call_spec", op.spec).effects.is_stateful else op
    return _result_type(op.spec)(*values)


@functools.cache
def _result_type(spec: OpSpec) -> type:
    """Returns the named tuple class for the outputs of an op type."""
    return collections.namedtuple(spec.name, [a.name for a in spec.signature.outputs], rename=True)
