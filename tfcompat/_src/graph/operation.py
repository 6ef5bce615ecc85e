"""tf.Operation: a node of a graph, with 1.15's public view of it (`inputs`, `node_def` ...) and the fields that a run reads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Protocol

from tfcompat._src.base import device as device_lib
from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.base.tf_stack import StackFrame, convert_stack
from tfcompat._src.base.traceable_stack import TraceableObject
from tfcompat._src.graph import attr_values, op_spec
from tfcompat._src.graph.signature import Arg, Signature
from tfcompat._src.graph.tensor import Tensor, session_for
from tfcompat._src.proto import messages

if TYPE_CHECKING:
    from tfcompat._src.graph.graph import Graph

_MAX_FRAMES = 64
"""How many frames a creation stack keeps at most: errors name the innermost frames of the program."""

CreationStack = tuple[tuple[CodeType, int], ...]


def creation_stack(skip: int) -> CreationStack:
    """Returns the Python stack as (code, line) pairs, innermost first.

    Every node records one, so it holds no text; `Operation.traceback` formats it on demand.
    """
    frame: FrameType | None = sys._getframe(skip)
    frames: list[tuple[CodeType, int]] = []
    while frame is not None and len(frames) < _MAX_FRAMES:
        frames.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return tuple(frames)


class ControlFlowContext(Protocol):
    """The conditional or loop in which nodes are made, as far as graphs need it."""

    name: str

    def require_visible(self, source: Operation, node: Operation, context: ControlFlowContext | None) -> None:
        """Raises if `node`, made in `context`, may not take outputs of `source`, which is of this context."""

    def AddOp(self, op: Operation) -> None:  # noqa: N802
        """Adds a new node to this context."""

    def IsWhileContext(self) -> bool:  # noqa: N802
        """Whether this context is a while loop."""


@export("Operation")
class Operation:
    """A graph node: computes output tensors from input tensors, and may have side effects.

    Graph-building functions make operations; programs do not call the constructor. Attributes: `name`, `type`, `inputs`, `outputs`,
    `control_inputs`, `device`, `graph`, `node_def`, `op_def`, `traceback`.

    The stages of a run read `takes` and `waits_for` (inputs and control inputs; an inlined function call is replaced by its body's
    results), `attrs` (values in the graph's form, see attr_values) and `order` (sort key for creation order).
    """

    is_node = True
    type: str = ""
    _device_assignments: Sequence[TraceableObject] = ()
    _colocation_dict: Mapping[str, TraceableObject] = {}
    _given_traceback: Sequence[StackFrame] | None = None

    def __init__(
        self, graph: Graph, spec: op_spec.OpSpec, name: str, inputs: Iterable[Tensor], output_dtypes: Iterable[dtypes.DType],
        attrs: dict[str, Any], control_inputs: Iterable[Operation], node_id: int, stack: CreationStack,
    ) -> None:  # fmt: skip
        self._graph = graph
        self.spec = spec
        self.type = spec.name
        self._name = name
        # A run reads `takes` and `waits_for`; the public `inputs` and `control_inputs` are views of them.
        self.takes = tuple(inputs)
        self.waits_for = list(control_inputs)
        self.attrs = attrs
        self._device = ""
        self._id = self._id_value = node_id
        self.order: tuple[int, ...] = (node_id,)
        self._stack = stack
        self._control_flow_context: ControlFlowContext | None = None
        self._original_op: Operation | None = None
        self._gradient_function: Callable[..., Any] | None = None
        self._outputs = [Tensor(self, i, dtype) for i, dtype in enumerate(output_dtypes)]

    @property
    def name(self) -> str:
        return self._name

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self.takes

    @property
    def outputs(self) -> list[Tensor]:
        return self._outputs

    @property
    def control_inputs(self) -> list[Operation]:
        return list(self.waits_for)

    @property
    def device(self) -> str:
        return self._device

    @property
    def _input_types(self) -> list[dtypes.DType]:
        """The dtypes of the inputs; a ref dtype only for inputs that the signature declares as Ref."""
        # A list argument of the signature covers several inputs.
        by_ref = [a.is_ref for a in self.spec.signature.inputs for _ in range(self.arg_length(a))]
        return [t.dtype if ref else t.dtype.base_dtype for t, ref in zip(self.inputs, by_ref)]

    @property
    def _output_types(self) -> list[int]:
        return [t.dtype.as_datatype_enum for t in self.outputs]

    @property
    def _control_outputs(self) -> list[Operation]:
        return [o for o in self._graph.get_operations() if self in o.control_inputs]

    def values(self) -> tuple[Tensor, ...]:
        return tuple(self.outputs)

    def _set_device(self, device: object) -> None:
        self._device = device_lib.canonical_name(device)
        self._graph._note_change()

    _set_device_from_string = _set_device

    # ---- attributes and messages ----

    def colocation_groups(self) -> list[bytes]:
        """Returns the colocation groups (`loc:@name`) of this op; by default the one of its own name."""
        # Entries of `_class` without the prefix are no colocation groups.
        own = [b"loc:@" + self._name.encode()]
        return [g for g in self.attrs.get("_class", ()) if g.startswith(b"loc:@")] or own

    def get_attr(self, name: str) -> Any:
        """Returns an attribute's value: a number, bytes, a DType, a message, or a list of these; raises ValueError if there is none."""
        if name not in self.attrs:
            raise ValueError(f"Operation '{self._name}' has no attr named '{name}'.")
        return attr_values.to_public(self.attrs[name])

    def _set_attr(self, name: str, value: object) -> None:
        self.attrs[name] = attr_values.from_proto(value) if isinstance(value, messages.AttrValue) else value
        self._graph._note_change()

    def _set_attr_with_buf(self, name: str, serialized: bytes) -> None:
        self._set_attr(name, messages.AttrValue.FromString(serialized))

    def _clear_attr(self, name: str) -> None:
        self.attrs.pop(name, None)
        self._graph._note_change()

    @property
    def node_def(self) -> messages.NodeDef:
        """This node as a new NodeDef message; control inputs come last, sorted by name."""
        node = messages.NodeDef(name=self._name, op=self.type, device=self._device)
        node.input.extend(t._as_node_def_input() for t in self.inputs)
        node.input.extend(sorted("^" + c._name for c in self.control_inputs))
        for key, value in self.attrs.items():
            attr_values.fill(node.attr[key], value)
        return node

    @property
    def op_def(self) -> messages.OpDef:
        """The OpDef message of this node's type."""
        return attr_values.op_def(self.spec)

    # ---- where it was made ----

    @property
    def traceback(self) -> list[tuple[Any, ...]]:
        """The Python stack that made the node: (file, line, function, source line) tuples, outermost first."""
        return list(convert_stack(self._traceback))

    @property
    def traceback_with_start_lines(self) -> list[tuple[Any, ...]]:
        """`traceback`, with the first line of the function at the end of each tuple."""
        return list(convert_stack(self._traceback, include_func_start_lineno=True))

    @property
    def _traceback(self) -> Sequence[StackFrame]:
        if self._given_traceback is not None:
            return self._given_traceback
        # The recorded frames have no globals, so linecache reads source lines from files alone.
        return [StackFrame(c.co_filename, line, c.co_name, None, c.co_firstlineno) for c, line in reversed(self._stack)]

    @_traceback.setter
    def _traceback(self, frames: Sequence[StackFrame]) -> None:
        self._given_traceback = frames

    def run(self, feed_dict: dict[Any, Any] | None = None, session: SessionLike | None = None) -> None:
        """Runs this operation in `session`, or in the default session; raises ValueError if there is none."""
        session_for("execute operation using `run()`", self._graph, session).run(self, feed_dict)

    # ---- changes of an existing node ----

    def _get_control_flow_context(self) -> ControlFlowContext | None:
        return self._control_flow_context

    def _set_control_flow_context(self, context: ControlFlowContext | None) -> None:
        self._control_flow_context = context

    def _add_control_input(self, op: Operation) -> None:
        self._add_control_inputs([op])

    def _add_control_inputs(self, ops: Iterable[Operation]) -> None:
        control_inputs = dict.fromkeys(self.control_inputs)
        for op in ops:
            if not isinstance(op, Operation):
                raise TypeError(f"op must be an Operation: {op}")
            if op._graph is not self._graph:
                raise ValueError(f"{op.name} and {self.name} must be from the same graph.")
            control_inputs[op] = None
        self._set_control_inputs(control_inputs)

    def _remove_all_control_inputs(self) -> None:
        self._set_control_inputs(())

    def _set_control_inputs(self, ops: Iterable[Operation]) -> None:
        self.waits_for = list(ops)
        self._graph._note_change()

    def _set_inputs(self, tensors: Iterable[Tensor]) -> None:
        self.takes = tuple(tensors)
        self._graph._note_change()

    def _update_input(self, index: int, tensor: Tensor) -> None:
        """Replaces input `index`; raises ValueError for a tensor of another graph, OutOfRangeError for a wrong index."""
        if tensor.graph is not self._graph:
            raise ValueError(f"{tensor.name} and {self.name} must be from the same graph.")
        changed = list(self.inputs)
        # 1.15 raises an OpError here, from its C interface.
        if not 0 <= index < len(changed):
            raise errors.OutOfRangeError(
                self.node_def, self,
                f"Cannot update edge. Input index [{index}] is greater than the number of total inputs [{len(changed)}].",
            )  # fmt: skip
        changed[index] = tensor
        self._set_inputs(changed)

    # ---- inputs and outputs by the signature ----

    def input_named(self, name: str) -> Any:
        """Returns the tensor, or list of tensors, for the input `name` of the signature."""
        return self._named(name, self.spec.signature.inputs, self.takes)

    def output_named(self, name: str) -> Any:
        """Returns the tensor, or list of tensors, for the output `name` of the signature."""
        return self._named(name, self.spec.signature.outputs, self.outputs)

    def arg_length(self, arg: Arg) -> int:
        """Returns the number of tensors of this node for an input or output of the signature."""
        return arg_length(arg, self.attrs)

    def constant_positions(self) -> frozenset[int]:
        """Returns the flat positions of the inputs that the kernel needs as NumPy values (`OpSpec.constants`, for this node)."""
        names, traceable = self.spec.constants, self.spec.traceable
        if traceable is not None:
            free = traceable(self)
            names = tuple(n for n in names if n not in free)
        if not names:
            return frozenset()
        positions: set[int] = set()
        start = 0
        for arg in self.spec.signature.inputs:
            count = arg_length(arg, self.attrs)
            if arg.name in names:
                positions.update(range(start, start + count))
            start += count
        return frozenset(positions)

    def _named(self, name: str, args: tuple[Any, ...], tensors: Sequence[Tensor]) -> Any:
        start = 0
        for arg in args:
            count = arg_length(arg, self.attrs)
            if arg.name == name:
                return list(tensors[start : start + count]) if arg.is_list else tensors[start]
            start += count
        raise KeyError(name)

    def __str__(self) -> str:
        return str(self.node_def)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self._name}' type={self.type}>"


def arg_length(arg: Arg, attrs: dict[str, Any]) -> int:
    """Returns the number of tensors for an input or output of a signature, given a node's attributes."""
    if arg.number_attr:
        return int(attrs[arg.number_attr])
    if arg.type_list_attr:
        return len(attrs[arg.type_list_attr])
    return 1


def output_dtypes(signature: Signature, attrs: dict[str, Any]) -> list[dtypes.DType]:
    """Returns the dtypes of all outputs, with list outputs flattened."""
    flat: list[dtypes.DType] = []
    for arg in signature.outputs:
        if arg.type_list_attr:
            kinds = list(attrs[arg.type_list_attr])
        else:
            kinds = [arg.dtype or attrs[arg.type_attr]] * arg_length(arg, attrs)
        flat.extend(k._as_ref if arg.is_ref else k for k in kinds)
    return flat

