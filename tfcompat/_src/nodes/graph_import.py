"""tf.import_graph_def: the nodes of a GraphDef message become nodes of the default graph.

Error messages are those of 1.15's GraphConstructor, which programs and tests compare.
"""

from __future__ import annotations

import contextlib
import functools
import heapq
import re
from collections.abc import Iterable
from typing import Any

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.device import DeviceSpec
from tfcompat._src.base.export import export
from tfcompat._src.base.recent import Recent
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph import attr_values, device_scope, op_spec
from tfcompat._src.graph.function_def import output_name
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation, arg_length, output_dtypes
from tfcompat._src.graph.scopes import get_default_graph, name_scope
from tfcompat._src.graph.signature import REQUIRED, Arg, Attr
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import to_tensor
from tfcompat._src.nodes.function_body import FuncGraph, GraphFunction, call_spec, calls_itself, short_name
from tfcompat._src.platform.versions import GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_PRODUCER, VERSION
from tfcompat._src.proto import messages

_LATER_ATTRS = frozenset((("VarHandleOp", "debug_name"),))
"""Attributes that TensorFlow 2 writes with values other than their defaults, and that change no result."""
_SHAPES_ONCE_WRONG = frozenset((
    "RandomShuffleQueue", "PaddingFIFOQueue", "FIFOQueue", "PriorityQueue", "QueueSize", "Stack", "Barrier",
    "BarrierReadySize", "BarrierIncompleteSize", "HashTable", "MutableHashTable", "MutableHashTableOfTensors", "Mutex",
    "WholeFileReader", "TextLineReader", "FixedLengthRecordReader", "TFRecordReader", "IdentityReader", "LMDBReader",
    "RefSwitch", "RefEnter", "RefNextIteration", "RefMerge", "RefIdentity",
))  # fmt: skip
"""Op types whose output shapes were written wrongly by early versions: as in 1.15, a `_output_shapes` that contradicts inference is ignored."""
_MOST_TENSORS = 1 << 20
_INT32 = range(-(1 << 31), 1 << 31)
_MERGE_TYPES = frozenset(("Merge", "RefMerge"))
_BACK_EDGE_TYPES = frozenset(("NextIteration", "RefNextIteration"))


@export("import_graph_def", "graph_util.import_graph_def")
def import_graph_def(
    graph_def: messages.GraphDef, input_map: dict[Any, Any] | None = None, return_elements: Iterable[str] | None = None, name: str | None = None,
    op_dict: object = None, producer_op_list: messages.OpList = None,
) -> list[Any] | None:  # fmt: skip
    """Adds the nodes of a GraphDef to the default graph.

    Args:
      graph_def: a GraphDef message.
      input_map: tensors of this graph that replace inputs, by their names in `graph_def` ("x:0", "x", "^x" for control inputs).
      return_elements: names of operations ("a") and tensors ("a:0") in `graph_def` to return.
      name: prefix of the names; "import" by default, "" for none.
      op_dict: deprecated; ignored, as in 1.15.
      producer_op_list: an OpList of the producer; attributes that are unknown here are dropped if they have its default.

    Returns:
      the `return_elements`, or None.

    Raises:
      TypeError: an argument is of the wrong type. ValueError: the graph is malformed.
      errors.NotFoundError: an op type that TensorFlow does not have or tfcompat does not have yet.
    """
    if not isinstance(graph_def, messages.GraphDef):
        raise TypeError("graph_def must be a GraphDef proto.")
    if input_map is not None and not (isinstance(input_map, dict) and all(isinstance(k, (str, bytes)) for k in input_map)):
        raise TypeError("input_map must be a dictionary mapping strings to Tensor objects.")
    wanted = None if return_elements is None else tuple(return_elements)
    if wanted is not None and not all(isinstance(e, (str, bytes)) for e in wanted):
        raise TypeError("return_elements must be a list of strings.")
    with name_scope("import" if name is None else name, values=(input_map or {}).values()) as scope:
        check_versions(graph_def.versions)
        importer = _Importer(get_default_graph(), graph_def, scope, _as_tensors(input_map or {}, scope), producer_op_list)
        importer.adopt_versions(graph_def.versions)
        importer.run()
        if wanted is None:
            return None
        return [importer.element(e if isinstance(e, str) else e.decode()) for e in wanted]


def check_versions(versions: messages.VersionDef) -> None:
    """Raises ValueError if a VersionDef says that its graph is too old, too new, or must not be read by this version."""
    if versions.producer < GRAPH_DEF_VERSION_MIN_PRODUCER:
        raise ValueError(
            f"GraphDef producer version {versions.producer} below min producer {GRAPH_DEF_VERSION_MIN_PRODUCER} supported "
            f"by TensorFlow {VERSION}.  Please regenerate your graph."
        )
    if versions.min_consumer > GRAPH_DEF_VERSION:
        raise ValueError(
            f"GraphDef min consumer version {versions.min_consumer} above current version {GRAPH_DEF_VERSION} "
            f"for TensorFlow {VERSION}.  Please upgrade TensorFlow."
        )
    if GRAPH_DEF_VERSION in versions.bad_consumers:
        raise ValueError(
            f"GraphDef disallows consumer version {GRAPH_DEF_VERSION}.  Please upgrade TensorFlow: this version is likely buggy."
        )


def _as_tensors(input_map: dict[Any, Any], scope: str) -> dict[str, Any]:
    """Returns an input map with full names as keys ("x:0", "^x") and tensors or operations as values."""
    mapped = {}
    if not scope and not all(isinstance(v, (Tensor, Operation)) for v in input_map.values()):
        raise ValueError("tf.import_graph_def() requires a non-empty `name` if `input_map` contains non-Tensor values.")
    for key, value in input_map.items():
        key = key.decode() if isinstance(key, bytes) else key
        if key.startswith("^"):
            mapped[key] = value if isinstance(value, Operation) else value.op
        else:
            with name_scope("_inputs") if scope else contextlib.nullcontext():
                mapped[key if ":" in key else key + ":0"] = to_tensor(value)
    return mapped


class _Importer:
    """One import: the nodes made so far by their names in the GraphDef, and the inputs that close loops, which are set last."""

    _name_pattern = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\-/]*", re.ASCII)
    _input_pattern = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\-/]*(:\d+)?|\^[A-Za-z0-9.][A-Za-z0-9_.\-/]*", re.ASCII)
    _completes_nodes = True  # 1.15 writes the defaults of attributes into the message that it is given
    _drops_unknown_groups = False

    def __init__(self, graph: Graph, graph_def: messages.GraphDef, scope: str, input_map: dict[str, Any], producer_op_list: messages.OpList) -> None:
        self._graph, self._scope, self._input_map = graph, scope, input_map
        self._defaults = {o.name: o for o in producer_op_list.op} if producer_op_list is not None else {}
        self._nodes: dict[str, Any] = {}
        for node in graph_def.node:
            self._check_node(node)
            self._nodes[node.name] = node
        self._made: dict[str, Operation] = {}
        # Names are made unique against the scopes of the graph as it is now, as in 1.15, not against those that the import adds.
        self._wanted = {scope + name for name in self._nodes}
        self._scopes = {name[:i] for name in list(graph._nodes_by_name) for i, letter in enumerate(name) if letter == "/"}
        self._open: list[tuple[str, int, str]] = []
        self._used: set[str] = set()
        self._beside: list[tuple[Operation, list[str]]] = []
        add_functions(graph, graph_def.library)

    def _check_node(self, node: messages.NodeDef) -> None:
        """Raises ValueError if a node's name, op type or order of inputs is malformed."""
        if not self._name_pattern.fullmatch(node.name):
            raise ValueError(f"Node {node.name!r}: Node name contains invalid characters")
        if node.name in self._nodes:
            raise ValueError(f"Node {node.name!r} is not unique")
        if not node.op:
            raise ValueError(f"Node {node.name!r} does not specify an operation")
        controls = [source.startswith("^") for source in node.input]
        if sorted(controls) != controls:
            raise ValueError(f"Node {node.name!r}: Control dependencies must come after regular dependencies")

    def run(self, all_used: bool = True) -> None:
        """Makes all nodes.

        Args:
          all_used: whether unused keys of the input map raise ValueError.
        """
        for name in self._order():
            self._made[name] = self._make(self._nodes[name])
        self._place_beside()
        # Back edges: all nodes exist now.
        for name, position, source in self._open:
            self._made[name]._update_input(position, self._tensor(name, source))
        unused = [k for k in self._input_map if k not in self._used and not self._has_output(k)]
        if unused and all_used:
            raise ValueError(f"Attempted to map inputs that were not found in graph_def: [{', '.join(unused)}]")

    def _has_output(self, key: str) -> bool:
        """Returns whether a key of the input map names an output of the GraphDef that no node uses."""
        name, _, index = key.partition(":")
        return name in self._made and int(index) < len(self._made[name].outputs)

    def adopt_versions(self, versions: messages.VersionDef) -> None:
        """Merges the GraphDef's versions into the graph's: the older producer, the newer minimal consumer, all bad consumers."""
        mine = self._graph.graph_def_versions
        mine.producer = min(mine.producer, versions.producer)
        mine.min_consumer = max(mine.min_consumer, versions.min_consumer)
        mine.bad_consumers.extend(sorted(set(versions.bad_consumers) - set(mine.bad_consumers)))

    def _unique(self, name: str) -> str:
        """Returns the name of a new node: not one of the graph's nodes, nor of the scopes that it had when the import began."""
        graph, unique, count = self._graph, self._scope + name, 0
        while unique in graph._nodes_by_name or unique in self._scopes or (count and unique in self._wanted):
            count += 1
            unique = f"{self._scope}{name}_{count}"
        return unique

    def _order(self) -> list[str]:
        """Returns the nodes' names in topological order, by Kahn's algorithm; among ready nodes the GraphDef's order decides.

        Inputs from NextIteration to Merge close loops and are not counted.

        Raises:
          ValueError: other edges form a cycle.
        """
        position = {name: i for i, name in enumerate(self._nodes)}
        waiting = {name: self._sources(node) for name, node in self._nodes.items()}
        consumers: dict[str, list[str]] = {name: [] for name in self._nodes}
        for name, sources in waiting.items():
            for source in sources:
                consumers[source].append(name)
        # A heap of nodes whose inputs are all made, by their position in the GraphDef.
        ready = [(position[name], name) for name, sources in waiting.items() if not sources]
        heapq.heapify(ready)
        order = []
        while ready:
            _, name = heapq.heappop(ready)
            order.append(name)
            for consumer in consumers[name]:
                waiting[consumer].discard(name)
                if not waiting[consumer]:
                    heapq.heappush(ready, (position[consumer], consumer))
        if len(order) != len(self._nodes):
            raise ValueError(f"{len(self._nodes) - len(order)} nodes in a cycle")
        return order

    def _sources(self, node: messages.NodeDef) -> set[str]:
        """Returns the names of the nodes that must be made before a node."""
        sources = set()
        for source in node.input:
            name = source.lstrip("^").partition(":")[0]
            if self._mapped(source) is not None:
                continue
            if not self._input_pattern.fullmatch(source) or name not in self._nodes:
                raise ValueError(f"Node {node.name!r}: Unknown input node {source!r}")
            is_back_edge = self._nodes[name].op in _BACK_EDGE_TYPES and node.op in _MERGE_TYPES
            if not is_back_edge or source.startswith("^"):
                sources.add(name)
        return sources

    def _mapped(self, source: str) -> Any:
        """Returns the replacement of an input from the input map, and marks its key as used; None if there is none."""
        key = source if source.startswith("^") or ":" in source else source + ":0"
        if key in self._input_map:
            self._used.add(key)
            return self._input_map[key]
        return None

    def _spec(self, node: messages.NodeDef) -> op_spec.OpSpec:
        """Returns the op spec of a node's op type, or of the function that it calls."""
        function = self._graph._get_function(node.op)
        if isinstance(function, ImportedFunction) and not function.has_body:
            function.instantiate()
        spec = op_spec.find(node.op) if function is None else function.spec
        if spec is None:
            raise errors.NotFoundError(
                node, None, f"Op type not registered '{node.op}' in tfcompat: node {node.name!r} cannot be imported."
            )
        # Some op types have attributes in TensorFlow 2 that 1.15's do not have: a node that has one of them is of the later form.
        later = op_spec.LATER_FORMS.get(node.op)
        if later is not None and any(key in later.signature.attrs and key not in spec.signature.attrs for key in node.attr):
            spec = later
        return spec

    def _make(self, node: messages.NodeDef) -> Operation:
        """Makes a node and returns it."""
        spec = self._spec(node)
        attrs = self._attrs(spec, node)
        inputs = self._inputs(node)
        self._check_inputs(spec, node, inputs, attrs)
        controls = [self._control(s) for s in node.input if s.startswith("^")]
        final = self._unique(node.name)
        self._graph._names_in_use.setdefault(final.lower(), 1)
        with self._graph.control_dependencies(controls) if controls else contextlib.nullcontext():
            op = self._graph.make_op(spec, final, inputs, attrs, output_dtypes(spec.signature, attrs))
        op._set_control_inputs(dict.fromkeys([*controls, *op.control_inputs]))
        # A node in a colocation group is placed after all nodes are made (`_place_beside`); its own device does not count.
        groups = self._rename_colocation(op, node.name)
        if groups:
            self._beside.append((op, groups))
        elif node.device:
            op._device = self._merged_device(op, node.device)
        stated = attrs.pop("_output_shapes", ())
        for tensor, shape in zip(op.outputs, stated if isinstance(stated, list) else ()):
            if not isinstance(shape, TensorShape):
                continue
            # Shapes in the message refine inferred ones; where they contradict them, set_shape raises.
            if node.op not in _SHAPES_ONCE_WRONG or tensor.shape.is_compatible_with(shape):
                tensor.set_shape(shape)
        return op

    def _merged_device(self, op: Operation, device: str) -> str:
        """Returns a node's device, completed by the device scopes of the graph."""
        _require_device(device)
        op._device = device
        device_scope.apply(self._graph._devices, op)
        return op._device

    def _rename_colocation(self, op: Operation, name_in_graph_def: str) -> list[str]:
        """Replaces names in a node's colocation groups by those in the graph; returns the other nodes in its groups."""
        groups = op.attrs.get("_class")
        if not groups:
            return []
        strange = next((g for g in groups if not isinstance(g, bytes)), None) if isinstance(groups, list) else groups
        if strange is not None:
            raise TypeError(f"Expected binary or unicode string, got {strange!r} as a group of node {name_in_graph_def!r}")
        if self._drops_unknown_groups:
            groups = [g for g in groups if not g.startswith(b"loc:@") or g[5:].decode() in self._nodes]
        names = [g[5:].decode() for g in groups if g.startswith(b"loc:@")]
        for name in names:
            if name not in self._nodes:
                raise ValueError(f"Node {name_in_graph_def!r} expects to be colocated with unknown node {name!r}")
        new_names = {n: self._made[n].name if n in self._made else op.name if n == name_in_graph_def else self._scope + n for n in names}
        op.attrs["_class"] = [
            b"loc:@" + new_names[g[5:].decode()].encode() if g.startswith(b"loc:@") else g for g in groups
        ]
        return [n for n in names if n != name_in_graph_def]

    def _place_beside(self) -> None:
        """Gives each node in a colocation group the device of the first other member that has one."""
        for op, names in self._beside:
            op._device = next((self._made[n].device for n in names if self._made[n].device), "")

    def _attrs(self, spec: op_spec.OpSpec, node: messages.NodeDef) -> dict[str, Any]:
        """Returns a node's attributes in internal form, checked and completed by defaults."""
        known = spec.signature.attrs
        attrs = {}
        for key, value in node.attr.items():
            # Private attributes are kept unchecked.
            if key not in known and not key.startswith("_"):
                if (node.op, key) in _LATER_ATTRS or self._is_producer_default(node.op, key, value):
                    continue
                raise ValueError(
                    f"NodeDef mentions attr {key!r} not in Op<name={spec.name}; signature={spec.text}>; NodeDef: {{{{node {self._scope}{node.name}}}}}."
                )
            if key in known:
                self._check_kind(node, known[key], value)
            attrs[key] = attr_values.from_proto(value)
            if key in known:
                self._check_allowed(spec, node, known[key], attrs[key])
        for key, attr in known.items():
            if key not in attrs:
                if attr.default is REQUIRED:
                    raise ValueError(
                        f"NodeDef missing attr {key!r} from Op<name={spec.name}; signature={spec.text}>; NodeDef: {{{{node {self._scope}{node.name}}}}}"
                    )
                attrs[key] = attr_values.default_value(attr)
                if self._completes_nodes:
                    attr_values.fill(node.attr[key], attrs[key])
        # A value whose dtype contradicts the attribute is unreadable: running the node raises, not importing it.
        if node.op == "Const":
            attrs["value"] = attr_values.of_dtype(attrs["value"], node.attr["value"].tensor, attrs["dtype"])
        return attrs

    def _is_producer_default(self, op_type: str, key: str, value: object) -> bool:
        """Returns whether an attribute has the default that the producer's op list states."""
        op_def = self._defaults.get(op_type)
        return op_def is not None and any(a.name == key and a.default_value == value for a in op_def.attr)

    def _inputs(self, node: messages.NodeDef) -> list[Tensor]:
        """Returns the data inputs of a node. Those that close loops are noted in `_open`, with another input in their place until then."""
        inputs: list[Tensor] = []
        for position, source in enumerate(s for s in node.input if not s.startswith("^")):
            name = source.partition(":")[0]
            if self._mapped(source) is None and name not in self._made:
                self._open.append((node.name, position, source))
                inputs.append(inputs[0] if inputs else self._placeholder_for(name))
            else:
                inputs.append(self._tensor(node.name, source))
        return inputs

    def _placeholder_for(self, name: str) -> Tensor:
        """Raises ValueError: a Merge whose first input closes a loop has no other input to take its place."""
        raise ValueError(f"The first input of a Merge closes a loop through {name!r}: it must be an Enter, from outside of the loop.")

    def _tensor(self, consumer: str, source: str) -> Tensor:
        mapped: Tensor | None = self._mapped(source)
        if mapped is not None:
            return mapped
        name, _, index = source.partition(":")
        outputs = self._made[name].outputs
        if int(index or 0) >= len(outputs):
            raise ValueError(
                f"Node {consumer!r}: Connecting to invalid output {index or 0} of source node {name} which has {len(outputs)} outputs."
            )
        return outputs[int(index or 0)]

    def _control(self, source: str) -> Operation:
        mapped = self._mapped(source)
        return mapped if mapped is not None else self._made[source[1:]]

    def _check_kind(self, node: messages.NodeDef, attr: Attr, value: object) -> None:
        """Raises ValueError if a message holds a value of another kind than the attribute's."""
        problem = attr_values.misfit(value, attr.kind)
        if problem:
            where = f"; NodeDef: {{{{node {self._scope}{node.name}}}}}; Op {node.op}"
            raise ValueError(f"{problem} for attr {attr.name!r}{where}")

    def _check_allowed(self, spec: op_spec.OpSpec, node: Any, attr: Attr, value: Any) -> None:
        """Raises ValueError if an attribute's value is not allowed, too small or too short."""
        if attr.minimum is None and attr.allowed is None and attr.kind not in ("int", "list(int)"):
            return
        where = f"; NodeDef: {{{{node {self._scope}{node.name}}}}}; Op {node.op}"
        values = value if attr.is_list else [value]
        if attr.kind in ("int", "list(int)"):
            self._check_integers(spec, attr, values, where)
        size, of = (len(values), "Length for") if attr.is_list else (value, "Value for")
        if attr.minimum is not None and (attr.is_list or attr.kind == "int") and size < attr.minimum:
            raise ValueError(f"{of} attr {attr.name!r} of {size} must be at least minimum {attr.minimum}{where}")
        allowed = values if attr.allowed is None else attr.allowed
        for item in values:
            if item not in allowed:
                names = ", ".join(sorted(getattr(v, "name", str(v)) for v in allowed))
                raise ValueError(f"Value for attr {attr.name!r} of {item!r} is not in the list of allowed values: {names}{where}")

    @staticmethod
    def _check_integers(spec: op_spec.OpSpec, attr: Attr, values: list[int], where: str) -> None:
        """Raises ValueError for integers that do not fit where TensorFlow reads 32 bits, and for more tensors than a node may have."""
        too_large = next((n for n in values if n not in _INT32), None)
        if too_large is not None and (attr.is_list or _is_number_of(attr.name, spec)):
            raise ValueError(f"Attr {attr.name} has value {too_large} out of range for an int32{where}")
        if not attr.is_list and values[0] > _MOST_TENSORS and _is_number_of(attr.name, spec):
            raise ValueError(f"Attr {attr.name} has value {values[0]}: a node has at most {_MOST_TENSORS} tensors{where}")

    def _check_inputs(self, spec: op_spec.OpSpec, node: messages.NodeDef, inputs: list[Tensor], attrs: dict[str, Any]) -> None:
        """Raises ValueError if the number or dtypes of a node's inputs differ from the signature's."""
        expected: list[tuple[dtypes.DType, bool]] = []
        for arg in spec.signature.inputs:
            count = arg_length(arg, attrs)
            kinds = attrs[arg.type_list_attr] if arg.type_list_attr else [arg.dtype or attrs[arg.type_attr]] * count
            expected.extend((k, arg.is_ref) for k in kinds)
        if len(expected) != len(inputs):
            names = ", ".join(short_name(k._as_ref if is_ref else k) for k, is_ref in expected)
            raise ValueError(
                f"NodeDef expected inputs '{names}' do not match {len(inputs)} inputs specified; Op<name={spec.name}; "
                f"signature={spec.text}>; NodeDef: {{{{node {self._scope}{node.name}}}}}"
            )
        for i, ((kind, is_ref), tensor) in enumerate(zip(expected, inputs)):
            if tensor.dtype.base_dtype != kind or (is_ref and not tensor.dtype._is_ref_dtype):
                raise ValueError(
                    f"Input {i} of node {self._scope}{node.name} was passed {short_name(tensor.dtype)} from {tensor.name} "
                    f"incompatible with expected {short_name(kind._as_ref if is_ref else kind)}."
                )

    def element(self, name: str) -> Any:
        """Returns a return element, an operation or a tensor, by its name in the GraphDef."""
        op_name, colon, index = name.partition(":")
        if ":" in index:
            raise ValueError(f"Cannot convert {name!r} to a tensor name.")
        mapped = self._input_map.get(name) if colon else None
        if mapped is not None:
            return mapped
        op = self._made.get(op_name)
        if op is None:
            kind = "tensor" if colon else "node"
            raise ValueError(f"Requested return {kind} {name!r} not found in graph def")
        if not colon:
            return op
        if not index.isdigit() or int(index) >= len(op.outputs):
            raise ValueError(f"Invalid return output {index} of node {op_name!r}, which has {len(op.outputs)} output(s)")
        return op.outputs[int(index)]


@functools.lru_cache(maxsize=4096)
def _require_device(device: str) -> None:
    """Raises ValueError if a device string is malformed."""
    DeviceSpec.from_string(device)


def _is_number_of(name: str, spec: op_spec.OpSpec) -> bool:
    """Returns whether an attribute is the number of tensors of an input or output."""
    return any(arg.number_attr == name for arg in (*spec.signature.inputs, *spec.signature.outputs))


class _BodyImporter(_Importer):
    """Imports the nodes of a function, whose inputs are named "argument" or "node:output:index"."""

    _input_pattern = re.compile(
        r"[A-Za-z0-9.][A-Za-z0-9_.\-/]*(:[a-zA-Z0-9_]+:\d+|:\d+)?|\^[A-Za-z0-9.][A-Za-z0-9_.\-/]*", re.ASCII
    )
    # A body may mention groups of nodes outside of it. Messages of the library are not modified.
    _drops_unknown_groups = True
    _completes_nodes = False

    def has_source(self, source: str) -> bool:
        """Returns whether the body has the argument or node that an input names."""
        return self._mapped(source) is not None or source.partition(":")[0] in self._made

    def _tensor(self, consumer: str, source: str) -> Tensor:
        mapped = self._mapped(source)
        if mapped is not None or source.count(":") != 2:
            return mapped if mapped is not None else super()._tensor(consumer, source)
        name, output, index = source.split(":")
        for tensor in self._made[name].outputs:
            if output_name(tensor) == (output, int(index)):
                return tensor
        raise ValueError(f"Node {consumer!r}: node {name!r} has no output {output!r} with index {index}")


class ImportedFunction(GraphFunction):
    """A function of a GraphDef's library; its body is made on first use.

    Args:
      definition: a FunctionDef message.
      graph: the graph that holds the function.

    Attributes:
      library: the functions that were imported with it, by name.
    """

    def __init__(self, definition: messages.FunctionDef, graph: Graph) -> None:
        self.name, self._definition, self._graph = definition.signature.name, definition, graph
        self.library: dict[str, ImportedFunction] = {}
        self._is_being_made = False
        self.programs = Recent()
        self.attrs = {k: attr_values.from_proto(v) for k, v in definition.attr.items()}
        self.arg_names = [a.name for a in definition.signature.input_arg]
        self.out_names = [a.name for a in definition.signature.output_arg]

    @property
    def definition(self) -> messages.FunctionDef:
        return self._definition

    @property
    def has_body(self) -> bool:
        """Whether the body has been made."""
        return "body" in self.__dict__

    @functools.cached_property
    def held(self) -> dict[str, ImportedFunction]:  # type: ignore[override]  # a property that is computed once
        return {name: self.library[name] for name in _called(self._definition) if name in self.library}

    @property
    def is_stateful(self) -> bool:
        return bool(self._definition.signature.is_stateful)

    @property
    def spec(self) -> op_spec.OpSpec:
        signature = self._definition.signature
        inputs, outputs = (tuple(map(self._arg, args)) for args in (signature.input_arg, signature.output_arg))
        return call_spec(self.name, inputs, outputs, op_spec.Effects(external=signature.is_stateful))

    def _arg(self, arg: messages.OpDef.ArgDef) -> Arg:
        if arg.type_attr or arg.number_attr or arg.type_list_attr:
            raise NotImplementedError(
                f"tfcompat does not import function {self.name}: its argument {arg.name!r} has no fixed type. Replace its type attribute by a type."
            )
        return Arg(arg.name, dtype=dtypes.as_dtype(arg.type), is_ref=arg.is_ref)

    @functools.cached_property
    def body(self) -> FuncGraph:  # type: ignore[override]  # a property that is computed once
        try:
            return self.instantiate()
        except ValueError as e:
            raise errors.InvalidArgumentError(None, None, f"Function {self.name}: {e}") from None

    def instantiate(self) -> FuncGraph:
        """Makes the body.

        Raises:
          ValueError: the definition is malformed. errors.NotFoundError: it has a node of an unknown op type.
          errors.UnimplementedError: the function calls itself.
        """
        # A function that calls itself asks for its own body while it is being made.
        if self._is_being_made:
            raise calls_itself(self.name)
        self._is_being_made = True
        try:
            self.__dict__["body"] = made = self._made()
        finally:
            self._is_being_made = False
        return made

    def _made(self) -> FuncGraph:
        """Imports the definition's nodes into a new body."""
        definition = self._definition
        duplicate = next((n for i, n in enumerate(self.arg_names) if n in self.arg_names[:i]), None)
        if duplicate is not None:
            raise ValueError(f"Duplicated arg name: {duplicate}")
        body = FuncGraph(self._graph)
        if self._graph.executes:
            # In eager mode the graph's library is weak: the body keeps the functions that it calls.
            body._functions.update(self.held)
        with body.as_default():
            arguments = {
                f"{a.name}:0": body.add_input(dtypes.as_dtype(a.type), None, a.name) for a in definition.signature.input_arg
            }
            importer = _BodyImporter(body, messages.GraphDef(node=definition.node_def), "", arguments, None)
            importer.run(all_used=False)
        body.outputs = [self._result(importer, name) for name in self.out_names]
        return body

    def _result(self, importer: _BodyImporter, name: str) -> Tensor:
        """Returns the tensor of the body that a result names."""
        if name not in self._definition.ret:
            raise ValueError(f"Return {name} missing.")
        source = self._definition.ret[name]
        if not importer.has_source(source):
            raise ValueError(f"Return {name} -> {source} is not found.")
        return importer._tensor("a result", source)


def _called(definition: messages.FunctionDef) -> set[str]:
    """Returns the op types and function names that the nodes of a FunctionDef mention."""
    values = [value for node in definition.node_def for value in node.attr.values()]
    return {node.op for node in definition.node_def} | {f.name for value in values for f in (value.func, *value.list.func)}


def _check_library(library: messages.FunctionDefLibrary) -> None:
    """Raises ValueError if a library defines a function or its gradient in two ways, or names a gradient function that it lacks."""
    functions: dict[str, Any] = {}
    for definition in library.function:
        name = definition.signature.name
        if functions.setdefault(name, definition) != definition:
            raise ValueError(f"Cannot add function '{name}' because a different function with the same name already exists.")
    gradients: dict[str, str] = {}
    for entry in library.gradient:
        name, function = entry.function_name, entry.gradient_func
        if gradients.setdefault(name, function) != function:
            raise ValueError(f"Cannot assign gradient function '{function}' to '{name}' because it already has '{gradients[name]}'")
        if name in functions and function not in functions:
            raise ValueError(f"The gradient function '{function}' of '{name}' is not in the library.")


def add_functions(graph: Graph, library: messages.FunctionDefLibrary) -> list[ImportedFunction]:
    """Adds the functions of a FunctionDefLibrary message to a graph, and records their gradient functions.

    Returns:
      the new functions. In eager mode the graph holds them weakly, so the caller must keep them.
    """
    _check_library(library)
    # A name that the graph has already keeps its function.
    new = [ImportedFunction(d, graph) for d in library.function if not graph._is_function(d.signature.name)]
    by_name = {function.name: function for function in new}
    for function in new:
        function.library = by_name
        graph._add_function(function)
    for entry in library.gradient:
        function = graph._get_function(entry.function_name)
        if function is not None:
            function.grad_func_name = entry.gradient_func
    return new
