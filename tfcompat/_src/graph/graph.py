"""tf.Graph: nodes in creation order, their names, and the scopes that apply to new nodes.

Graph only builds; `runtime/` runs. A scope (device, colocation, control dependencies, attributes ...) is a field that a context
manager replaces and restores; `make_op` applies all open scopes to the node that it adds.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, overload

from tfcompat._src.base import dtypes, thread_scopes
from tfcompat._src.base.default_stack import GRAPHS
from tfcompat._src.base.export import export
from tfcompat._src.base.findings import Finding
from tfcompat._src.base.graph_collections import Collections
from tfcompat._src.base.traceable_stack import TraceableObject, from_program
from tfcompat._src.graph import attr_values, device_scope, op_spec, picture, shape_inference
from tfcompat._src.graph.loop_derivative import LoopDerivative
from tfcompat._src.graph.operation import ControlFlowContext, Operation, creation_stack, output_dtypes
from tfcompat._src.graph.signature import REQUIRED, Signature
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.variable_reads import VariableReads
from tfcompat._src.platform.versions import GRAPH_DEF_VERSION
from tfcompat._src.proto import messages

if TYPE_CHECKING:
    from tfcompat._src.graph.function_def import Function

_VALID_OP_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\-/]*$")
_VALID_SCOPE_NAME = re.compile(r"^[A-Za-z0-9_.\-/]*$")


class _ControlDependencies:
    """One `control_dependencies` block: its control inputs, and the nodes made inside it so far."""

    def __init__(self, control_inputs: list[Operation] | None, context: ControlFlowContext | None) -> None:
        self.new_stack = control_inputs is None
        self.control_inputs = control_inputs or []
        self.made: set[Operation] = set()
        self.context = context


@export("Graph")
class Graph(VariableReads, Collections):
    """A dataflow graph: operations (nodes) and the tensors between them.

    New nodes are added to the default graph; `with g.as_default():` makes `g` the default. Several threads may run a graph at once,
    but only one thread at a time may add nodes to it.
    """

    building_function = False
    executes = False
    """Whether operations run when they are made (eager execution)."""
    is_program = False
    """Whether this graph holds the single operation of an eager call, compiled for input shapes but for all input values."""
    _is_loss_scaled_by_optimizer = False
    _building_function = property(lambda self: self.building_function)
    _c_graph = property(lambda self: self)

    @property
    def has_run(self) -> bool:
        """Whether this graph executes eagerly and has already run an operation."""
        return False

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self._maker = threading.get_ident()
        self._nodes: list[Operation] = []
        self._nodes_by_name: dict[str, Operation] = {}
        self._next_id = 0
        self._changes = 0
        self._names_in_use: dict[str, int] = {}
        self._name_stack = ""
        self._devices: list[Any] = []
        self._colocations: list[TraceableObject] = []
        self._control_dependencies_stack: list[_ControlDependencies] = []
        self._control_flow_context: ControlFlowContext | None = None
        self._default_original_op: Operation | None = None
        self._attr_scopes: dict[str, Any] = {}
        self._gradient_overrides: dict[str, str] = {}
        self._kernel_labels: dict[str, str] = {}
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Operation] = set()
        self._finalized = False
        self._seed: int | None = None
        self._seed_used = False
        self._container = ""
        self._functions: dict[str, Any] = {}
        self.findings: set[Finding] = set()
        self.loop_derivatives: list[LoopDerivative] = []
        self.recognized_version = -1
        self._consumer_cache: tuple[tuple[int, int], dict[Tensor, list[Operation]]] = ((-1, -1), {})
        self._handle_feeders: dict[str, Any] = {}
        self._handle_readers: dict[str, Any] = {}
        self._handle_movers: dict[str, Any] = {}
        self._handle_deleters: dict[str, Any] = {}
        self.functional_control_flow: bool | None = None
        self.captured_from: dict[Tensor, Tensor] = {}
        self.outer_graph: Graph | None = None
        self._graph_def_versions = messages.VersionDef(producer=GRAPH_DEF_VERSION)

    def switch_to_thread_local(self) -> None:
        """Makes device, colocation, control-dependency and name scopes thread-local from now on."""
        thread_scopes.separate(self)

    # ---- state ----

    def next_operation_seed(self) -> int:
        """Returns the op seed of a random operation that states none while the graph has a seed (as 1.15: the last node's id)."""
        self._seed_used = True
        return self._last_id

    @property
    def version(self) -> int:
        """The number of nodes added so far, `from_version` of `as_graph_def`."""
        return self._next_id

    _version = version

    @property
    def _last_id(self) -> int:
        return self._next_id

    @property
    def graph_def_versions(self) -> messages.VersionDef:
        return self._graph_def_versions

    @property
    def seed(self) -> int | None:
        return self._seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self._seed = seed

    @property
    def finalized(self) -> bool:
        return self._finalized

    def finalize(self) -> None:
        """Makes the graph read-only: adding a node raises RuntimeError from now on."""
        self._finalized = True

    def _unsafe_unfinalize(self) -> None:
        self._finalized = False

    def _check_not_finalized(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def _note_change(self) -> None:
        """Invalidates prepared runs after an existing node was changed, or what may be done with it."""
        self._changes += 1

    def outermost(self) -> Graph:
        """Returns the graph outside all function bodies that are being built."""
        graph = self
        while graph.building_function and graph.outer_graph is not None:
            graph = graph.outer_graph
        return graph

    def as_default(self) -> contextlib.AbstractContextManager[Graph]:
        """Makes this graph the default one inside the block; its scopes become thread-local if another thread made it."""
        if threading.get_ident() != self._maker:
            thread_scopes.separate(self)
        return GRAPHS.entered(self)

    # ---- making nodes ----

    def make_op(
        self, spec: op_spec.OpSpec, name: str, inputs: Iterable[Tensor], attrs: dict[str, Any],
        dtypes_out: list[dtypes.DType] | None = None, infer_shapes: bool = True, skip_frames: int = 2,
    ) -> Operation:  # fmt: skip
        """Adds a node of type `spec`; `name` is already unique and `attrs` are in the graph's form (see attr_values)."""
        self._check_not_finalized()
        if dtypes_out is None:
            dtypes_out = output_dtypes(spec.signature, attrs)
        with self._lock:
            control_inputs = self._control_inputs_for(inputs) if self._control_dependencies_stack else ()
            # Ids count from 1 in creation order, as 1.15's do: op seeds are derived from them.
            self._next_id += 1
            node = (spec.node_class or Operation)(
                self, spec, name, inputs, dtypes_out, attrs, control_inputs, self._next_id, creation_stack(skip_frames)
            )
            if infer_shapes and spec.node_class is None:
                shape_inference.infer(node)
            self._nodes.append(node)
            self._nodes_by_name[name] = node
            self._apply_scopes(node)
        return node

    def _apply_scopes(self, node: Operation) -> None:
        """Applies every open scope to a new node: attributes, control flow, control dependencies, devices, container."""
        node._original_op = self._default_original_op
        for key, value in self._attr_scopes.items():
            if key not in node.attrs:
                value = value(node.node_def) if callable(value) else value
                if value is not None:
                    node.attrs[key] = attr_values.from_proto(value)
        if node.type in self._kernel_labels:
            node.attrs["_kernel"] = self._kernel_labels[node.type].encode()
        if node.type in self._gradient_overrides:
            node.attrs["_gradient_op_type"] = self._gradient_overrides[node.type].encode()
        # A conditional or while loop may veto inputs of another context, and adds control inputs or forwards outer values (AddOp).
        context = self._control_flow_context
        for tensor in node.inputs:
            if tensor.op._control_flow_context is not None:
                tensor.op._control_flow_context.require_visible(tensor.op, node, context)
        if context is not None:
            node._control_flow_context = context
            context.AddOp(node)
        for entry in self._control_dependencies_stack:
            entry.made.add(node)
        if self._devices:
            device_scope.apply(self._devices, node)
        if self._colocations:
            self._apply_colocations(node)
        if self._container and "container" in node.attrs and not node.attrs["container"]:
            node.attrs["container"] = self._container.encode()

    def create_op(
        self, op_type: str, inputs: Iterable[Tensor], dtypes: Any = None, input_types: object = None, name: str | None = None,
        attrs: dict[Any, Any] | None = None, op_def: object = None, compute_shapes: bool = True, compute_device: bool = True,
    ) -> Operation:  # fmt: skip
        """Adds a node of a given type, without the checks and conversions of the op's Python function.

        Args:
          op_type: the op type.
          inputs: tensors of this graph.
          dtypes: output DTypes; by default those of the op's signature.
          name: node name, made unique in the current name scope; a name that ends in "/" is used unchanged, without the "/".
          attrs: AttrValue messages, or plain values, by name.

        Raises:
          TypeError: an input is not a tensor. RuntimeError: the graph is finalized.
        """
        self._check_not_finalized()
        inputs = list(inputs)
        for i, tensor in enumerate(inputs):
            if not isinstance(tensor, Tensor):
                raise TypeError(f"Input #{i} is not a tensor: {tensor}")
        spec = op_spec.get(op_type)
        inside = {
            k: attr_values.from_proto(v) if isinstance(v, messages.AttrValue) else v for k, v in (attrs or {}).items()
        }
        fill_inferred_attrs(spec.signature, inputs, inside)
        return self.make_op(spec, self._final_name(op_type if name is None else name), inputs, inside, dtypes, skip_frames=3)

    def _final_name(self, name: str) -> str:
        """Returns the node name for `name`: unchanged without the "/" if it ends in one, otherwise made unique in the scope."""
        name = name.decode() if isinstance(name, bytes) else name
        final = name[:-1] if name.endswith("/") else self.unique_name(name)
        if not _VALID_OP_NAME.match(final):
            raise ValueError(f"'{final}' is not a valid node name")
        return final

    def _create_op_from_tf_operation(self, c_op: Operation, compute_device: bool = True) -> Operation:
        """Applies the open device scopes to an operation that the emulated C interface added to this graph; returns it."""
        if compute_device and self._devices:
            device_scope.apply(self._devices, c_op)
        return c_op

    # ---- names ----
    _key_of = staticmethod(str.lower)  # by which names of nodes are equal

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """Returns `name` in the current scope, with `_1`, `_2`... appended if it is taken (see `_key_of`)."""
        if self._name_stack:
            name = f"{self._name_stack}/{name}"
        used = self._names_in_use
        count = used.get(key := self._key_of(name), 0)
        if mark_as_used:
            used[key] = count + 1
        if count == 0:
            return name
        # The counter is only where the search starts: a program may have used "name_1" itself.
        candidate = key
        while candidate in used:
            candidate = f"{key}_{count}"
            count += 1
        if mark_as_used:
            used[key] = count
            used[candidate] = 1
        return f"{name}_{count - 1}"

    @contextlib.contextmanager
    def name_scope(self, name: str | None) -> Iterator[str]:
        """Prefixes the names of nodes made inside; yields the scope with a trailing "/".

        `None` or "" leaves all scopes; a name that ends in "/" re-enters that scope. Raises ValueError for an invalid name.
        """
        if name:
            if isinstance(name, bytes):
                name = name.decode()
            if self._name_stack:
                if not _VALID_SCOPE_NAME.match(name):
                    raise ValueError(f"'{name}' is not a valid scope name")
            elif not _VALID_OP_NAME.match(name):
                raise ValueError(f"'{name}' is not a valid scope name")
        old = self._name_stack
        if not name:
            new = ""
        elif name.endswith("/"):
            new = name[:-1]
        else:
            new = self.unique_name(name)
        self._name_stack = new
        try:
            yield new + "/" if new else ""
        finally:
            self._name_stack = old

    def get_name_scope(self) -> str:
        return self._name_stack

    # ---- devices and colocation ----

    def _apply_device_functions(self, op: Any) -> None:
        """Calls `op._set_device_from_string` with the device of the open scopes, if they name one."""
        op._device = ""
        device_scope.apply(self._devices, op)
        if op._device:
            op._set_device_from_string(op._device)

    @contextlib.contextmanager
    def device(self, device_name_or_function: object) -> Iterator[None]:
        """Places the nodes made inside on a device: a string, a function of the node, or None to ignore outer device blocks."""
        entry, stack = device_scope.entry(device_name_or_function), self._devices
        stack.append(entry)
        try:
            yield
        finally:
            device_scope.leave(stack, entry)

    @contextlib.contextmanager
    def colocate_with(self, op: object, ignore_existing: bool = False) -> Iterator[None]:
        """Places the nodes made inside on the device of `op` and records the colocation group in their attribute `_class`."""
        if op is None and not ignore_existing:
            raise ValueError("Trying to reset colocation (op is None) but ignore_existing is not True")
        if op is not None and not isinstance(op, Operation):
            op = op.op if isinstance(op, Tensor) or hasattr(op, "op") else self.as_graph_element(op, allow_tensor=False)
        old_devices, old_colocations = self._devices, self._colocations
        self._devices = []
        self._colocations = ([] if ignore_existing else list(old_colocations)) + ([from_program(op)] if op is not None else [])
        try:
            yield
        finally:
            self._devices, self._colocations = old_devices, old_colocations

    def _apply_colocations(self, node: Operation) -> None:
        groups: list[bytes] = []
        for entry in self._colocations:
            groups.extend(entry.obj.colocation_groups())
            if entry.obj.device:
                node._device = entry.obj.device
        node._colocation_dict = {entry.obj.name: entry.copy_metadata() for entry in self._colocations}
        if groups:
            node.attrs["_class"] = sorted(set(groups))

    @contextlib.contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Puts the resources made inside into the named resource container."""
        old, self._container = self._container, container_name
        try:
            yield container_name
        finally:
            self._container = old

    # ---- control dependencies and control flow ----

    @contextlib.contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[None]:
        """Makes the nodes made inside run after `control_inputs` (operations or tensors); None clears the outer dependencies.

        Raises:
          TypeError: an entry is neither an operation nor a tensor.
        """
        entry = _ControlDependencies(self._as_control_inputs(control_inputs), self._control_flow_context)
        old_stack, old_context = self._control_dependencies_stack, self._control_flow_context
        if entry.new_stack:
            self._control_dependencies_stack, self._control_flow_context = [], None
        else:
            self._control_dependencies_stack = [*old_stack, entry]
        try:
            yield
        finally:
            self._control_dependencies_stack, self._control_flow_context = old_stack, old_context

    def _as_control_inputs(self, control_inputs: Iterable[Any] | None) -> list[Operation] | None:
        if control_inputs is None:
            return None
        found: list[Operation] = []
        known = self._current_control_dependencies()
        for element in control_inputs:
            element = self.as_graph_element(element.op if hasattr(element, "dense_shape") or hasattr(element, "_handle") else element)
            element = element.op if isinstance(element, Tensor) else element
            if element not in found and element not in known:
                found.append(element)
        return found

    def _control_inputs_for(self, inputs: Iterable[Tensor]) -> list[Operation]:
        """Returns the control inputs of a new node, without those that a data input made in the same block implies (as 1.15)."""
        sources = {t.op for t in inputs}
        found: list[Operation] = []
        for entry in self._control_dependencies_stack:
            if entry.made.isdisjoint(sources):
                found.extend(c for c in entry.control_inputs if c not in sources and c not in found)
        return found

    def _current_control_dependencies(self) -> set[Operation]:
        return {c for entry in self._control_dependencies_stack for c in entry.control_inputs}

    def _record_op_seen_by_control_dependencies(self, op: Operation) -> None:
        for entry in self._control_dependencies_stack:
            entry.made.add(op)

    def _get_control_flow_context(self) -> ControlFlowContext | None:
        return self._control_flow_context

    def _set_control_flow_context(self, context: ControlFlowContext | None) -> None:
        self._control_flow_context = context

    # ---- attribute scopes ----

    @contextlib.contextmanager
    def _attr_scope(self, attr_map: dict[str, Any]) -> Iterator[None]:
        """Adds these attributes (AttrValue messages, or functions of the NodeDef) to the nodes made inside."""
        if not isinstance(attr_map, dict):
            raise TypeError("attr_map must be a dictionary mapping strings to AttrValue protocol buffers")
        old = self._attr_scopes
        self._attr_scopes = {k: v for k, v in {**old, **attr_map}.items() if v is not None}
        try:
            yield
        finally:
            self._attr_scopes = old

    @contextlib.contextmanager
    def _mapped_scope(self, field: str, entries: dict[str, str]) -> Iterator[None]:
        if not isinstance(entries, dict) or not all(isinstance(x, str) for kv in entries.items() for x in kv):
            raise TypeError(f"Expected a dictionary that maps op types to strings, got {entries!r}.")
        old = getattr(self, field)
        setattr(self, field, {**old, **entries})
        try:
            yield
        finally:
            setattr(self, field, old)

    def gradient_override_map(self, op_type_map: dict[str, str]) -> contextlib.AbstractContextManager[None]:
        """Makes the nodes made inside use other registered gradients; `op_type_map` maps op types to gradient names."""
        return self._mapped_scope("_gradient_overrides", op_type_map)

    def _kernel_label_map(self, op_to_kernel_label_map: dict[str, str]) -> contextlib.AbstractContextManager[None]:
        return self._mapped_scope("_kernel_labels", op_to_kernel_label_map)

    @contextlib.contextmanager
    def _original_op(self, op: Operation | None) -> Iterator[None]:
        """Records `op` as the original operation (`_original_op`) of the nodes made inside, such as gradients."""
        old, self._default_original_op = self._default_original_op, op
        try:
            yield
        finally:
            self._default_original_op = old

    # ---- looking nodes up ----

    def get_operations(self) -> list[Operation]:
        """Returns all operations, in creation order."""
        return list(self._nodes)

    def get_operation_by_name(self, name: str) -> Operation:
        """Returns the operation of that name; raises KeyError if there is none, TypeError if `name` is no string."""
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False, allow_operation=True)

    _get_operation_by_name_unsafe = get_operation_by_name

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Returns the tensor of that name ("op:0"); raises KeyError if there is none, ValueError if it names an operation."""
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=True, allow_operation=False)

    @overload
    def as_graph_element(self, obj: object, allow_tensor: Literal[False], allow_operation: bool = True) -> Operation: ...

    @overload
    def as_graph_element(self, obj: object, allow_tensor: Literal[True] = True, *, allow_operation: Literal[False]) -> Tensor: ...

    @overload
    def as_graph_element(self, obj: object, allow_tensor: bool = True, allow_operation: bool = True) -> Tensor | Operation: ...

    def as_graph_element(self, obj: object, allow_tensor: bool = True, allow_operation: bool = True) -> Tensor | Operation:
        """Returns the Tensor or Operation of this graph that `obj` is, names or converts to.

        Raises:
          TypeError: `obj` does not convert to a graph element of an allowed kind.
          ValueError: `obj` belongs to another graph, or names an element of a kind that is not allowed.
          KeyError: this graph has no element of that name.
        """
        kinds = " or ".join(k for k, on in (("Tensor", allow_tensor), ("Operation", allow_operation)) if on)
        if not kinds:
            raise ValueError("allow_tensor and allow_operation can't both be False.")
        if not isinstance(obj, (Tensor, Operation, str)) and hasattr(obj, "_as_graph_element"):
            obj = obj._as_graph_element()
        if isinstance(obj, bytes):
            obj = obj.decode()
        if isinstance(obj, str):
            return self._element_named(obj, allow_tensor, allow_operation)
        if (isinstance(obj, Tensor) and allow_tensor) or (isinstance(obj, Operation) and allow_operation):
            if obj.graph is not self:
                raise ValueError(f"{'Tensor' if isinstance(obj, Tensor) else 'Operation'} {obj} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {kinds}.")

    _as_graph_element_locked = as_graph_element

    def _element_named(self, name: str, allow_tensor: bool, allow_operation: bool) -> Tensor | Operation:
        # The texts are 1.15's, spelling included.
        op_name, colon, index = name.partition(":")
        if colon and allow_tensor:
            if not index.isdigit():
                raise ValueError(
                    f"The name {name!r} looks a like a Tensor name, but is not a valid one. "
                    'Tensor names must be of the form "<op_name>:<output_index>".'
                )
            op = self._nodes_by_name.get(op_name)
            if op is None:
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. "
                    f"The operation, {op_name!r}, does not exist in the graph."
                )
            if int(index) >= len(op.outputs):
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r}, "
                    f"exists but only has {len(op.outputs)} outputs."
                )
            return op.outputs[int(index)]
        if colon:
            raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation.")
        op = self._nodes_by_name.get(name)
        if not allow_operation:
            if op is not None:
                raise ValueError(
                    f"The name {name!r} refers to an Operation, not a Tensor. "
                    'Tensor names must be of the form "<op_name>:<output_index>".'
                )
            raise ValueError(
                f"The name {name!r} looks like an (invalid) Operation name, not a Tensor. "
                'Tensor names must be of the form "<op_name>:<output_index>".'
            )
        if op is None:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return op

    def _consumers(self, tensor: Tensor) -> list[Operation]:
        """Returns the nodes that take `tensor`. One scan serves all tensors until a node is added or changed."""
        stamp = (self._next_id, self._changes)
        if self._consumer_cache[0] != stamp:
            consumers: dict[Tensor, list[Operation]] = {}
            for node in self._nodes:
                for t in dict.fromkeys(node.inputs):
                    consumers.setdefault(t, []).append(node)
            self._consumer_cache = (stamp, consumers)
        return list(self._consumer_cache[1].get(tensor, ()))

    def device_of(self, op_type: str) -> str:
        """Returns the full name of the device that an operation called now runs on; eager graphs only."""
        raise NotImplementedError(f"Graph.device_of({op_type!r}) needs a graph that executes eagerly; the nodes of this graph run in a session.")

    # ---- feeding and fetching ----

    def prevent_feeding(self, tensor: Tensor) -> None:
        self._unfeedable.add(tensor)
        self._note_change()

    def is_feedable(self, tensor: Tensor) -> bool:
        return tensor not in self._unfeedable

    def prevent_fetching(self, op: Operation) -> None:
        self._unfetchable.add(op)
        self._note_change()

    def is_fetchable(self, tensor_or_op: object) -> bool:
        return (tensor_or_op.op if isinstance(tensor_or_op, Tensor) else tensor_or_op) not in self._unfetchable

    # ---- functions ----

    def _is_function(self, name: str) -> bool:
        return name in self._functions

    def _get_function(self, name: str) -> Any:
        return self._functions.get(name)

    def _add_function(self, function: Function) -> None:
        self._functions[function.name] = function

    # ---- GraphDef ----

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> messages.GraphDef:
        """Returns this graph as a GraphDef message.

        Args:
          from_version: includes only the nodes added after this `version`; None includes all.
          add_shapes: adds the static output shapes as the attribute `_output_shapes`.
        """
        graph_def = messages.GraphDef()
        graph_def.versions.CopyFrom(self._graph_def_versions)
        for node in (n for n in self._nodes if from_version is None or n._id > from_version):
            node_def = graph_def.node.add()
            node_def.CopyFrom(node.node_def)
            if add_shapes and node.outputs:
                attr_values.fill(node_def.attr["_output_shapes"], [t.shape for t in node.outputs])
        for function in self._functions.values():
            graph_def.library.function.add().CopyFrom(function.definition)
            if function.grad_func_name:
                graph_def.library.gradient.add(function_name=function.name, gradient_func=function.grad_func_name)
        return graph_def

    def _repr_html_(self) -> str:
        """Returns the HTML that a notebook shows: a picture of this graph with scopes that open."""
        return picture.graph_html(self.get_operations())

    def __deepcopy__(self, memo: dict[Any, Any]) -> Graph:
        raise TypeError("A tf.Graph cannot be deep-copied; export it with as_graph_def() and import the result with tf.import_graph_def.")


def fill_inferred_attrs(signature: Signature, inputs: list[Tensor], attrs: dict[str, Any]) -> None:
    """Adds to `attrs` the attributes that the inputs determine, then the defaults of all others that are missing."""
    position = 0
    # A list input takes all inputs that the single ones leave over: create_op does not say where a list ends.
    for arg in signature.inputs:
        if arg.number_attr and arg.number_attr not in attrs:
            others = sum(1 for a in signature.inputs if not a.is_list)
            attrs[arg.number_attr] = len(inputs) - others
        if arg.type_list_attr and arg.type_list_attr not in attrs:
            others = sum(1 for a in signature.inputs if not a.is_list)
            attrs[arg.type_list_attr] = [t.dtype.base_dtype for t in inputs[position : position + len(inputs) - others]]
        if arg.type_attr and position < len(inputs):
            attrs.setdefault(arg.type_attr, inputs[position].dtype.base_dtype)
        count = attrs[arg.number_attr] if arg.number_attr else len(attrs[arg.type_list_attr]) if arg.type_list_attr else 1
        position += count
    for name, attr in signature.attrs.items():
        if name not in attrs and attr.default is not REQUIRED:
            attrs[name] = attr_values.default_value(attr)
