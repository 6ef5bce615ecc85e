"""tf.lite.OpHint: marks nodes as one operator of TensorFlow Lite, and GraphDefs with such an operator in place of the marked nodes."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import identity
from tfcompat._src.proto import messages

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


class OpHintArgumentTracker:
    """Numbers the inputs or the outputs of a hint, and marks them.

    Args:
      function_name: the name of the operator. unique_function_id: tells the hint from others.
      node_name_prefix: begins the names of the identities. attr_name: the attribute that has an argument's number.
      level, children_inputs_mappings: see OpHint.
    """

    def __init__(
        self, function_name: str, unique_function_id: str, node_name_prefix: str, attr_name: str, level: int = 1,
        children_inputs_mappings: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self._function_name, self._unique_function_id = function_name, unique_function_id
        self._prefix, self._attr_name, self._level = node_name_prefix, attr_name, level
        self._mappings = None if children_inputs_mappings is None else json.dumps(children_inputs_mappings)
        self._used: set[int] = set()
        self._index_of_tag: dict[str, int] = {}
        self._count_of_tag: dict[str, int] = {}

    def _new_index(self, index_override: int | None) -> int:
        if index_override in self._used:
            raise ValueError(f"Index {index_override} was already used by another call to add")
        index = next(i for i in range(len(self._used) + 1) if i not in self._used) if index_override is None else index_override
        self._used.add(index)
        return index

    def add(self, arg: TensorLike, tag: str | None = None, name: str | None = None, aggregate: str | None = None,
            index_override: int | None = None) -> Tensor:  # fmt: skip
        """An identity of a tensor, marked as an argument; see OpHint.add_input."""
        position = None
        if tag is None:
            if aggregate is not None:
                raise ValueError("You must specify `tag` if using aggregate.")
            index = self._new_index(index_override)
        else:
            if aggregate is None:
                raise ValueError("You must specify `aggregate` if using tag.")
            if tag not in self._index_of_tag:
                self._index_of_tag[tag] = self._new_index(index_override)
            index = self._index_of_tag[tag]
            if index_override and index_override != index:
                raise ValueError(f"Tag {tag!r} was called with two indices {index_override!r} and {index!r}")
            position = self._count_of_tag.get(tag, 0)
            self._count_of_tag[tag] = position + 1
        found = identity(arg, name=f"{self._prefix}-{self._function_name}-{self._unique_function_id}-{index!r}-{position!r}-{name}")
        numbers = {self._attr_name: index, OpHint.FUNCTION_LEVEL_ATTR: self._level, OpHint.FUNCTION_SORT_INDEX_ATTR: position}
        texts = {OpHint.FUNCTION_NAME_ATTR: self._function_name, OpHint.FUNCTION_UUID_ATTR: self._unique_function_id,
                 OpHint.FUNCTION_AGGREGATE_ATTR: aggregate, OpHint.CHILDREN_INPUTS_MAPPINGS: self._mappings}  # fmt: skip
        for key, number in numbers.items():
            if number is not None:
                found.op._set_attr(key, messages.AttrValue(i=number))
        for key, text in texts.items():
            if text is not None:
                found.op._set_attr(key, messages.AttrValue(s=text.encode()))
        return found


@export("lite.OpHint")
class OpHint:
    """Marks what a function computes as one operator: its inputs and outputs go through identities with attributes.

    Args:
      function_name: the name of the operator. level: its depth, where operators hold others.
      children_inputs_mappings: for levels above 1, which inputs and outputs are those of the operators inside.
      kwargs: constant attributes of the operator.

    Raises:
      ValueError: the mapping is missing, or there where it may not be.
    """

    FUNCTION_NAME_ATTR = "_tflite_function_name"
    FUNCTION_UUID_ATTR = "_tflite_function_uuid"
    FUNCTION_INPUT_INDEX_ATTR = "_tflite_function_input_index"
    FUNCTION_OUTPUT_INDEX_ATTR = "_tflite_function_output_index"
    FUNCTION_SORT_INDEX_ATTR = "_tflite_function_sort_index"
    FUNCTION_AGGREGATE_ATTR = "_tflite_function_aggregate"
    TFLITE_INPUT_INDICES = "_tflite_input_indices"
    FUNCTION_LEVEL_ATTR = "_tflite_ophint_level"
    CHILDREN_INPUTS_MAPPINGS = "_tflite_children_ophint_inputs_mapping"
    AGGREGATE_STACK = "stack"
    AGGREGATE_FIRST = "first"
    AGGREGATE_LAST = "last"
    OpHintArgumentTracker = OpHintArgumentTracker

    def __init__(self, function_name: str, level: int = 1, children_inputs_mappings: dict[str, Any] | None = None, **kwargs: Any) -> None:
        if (level == 1) != (children_inputs_mappings is None):
            raise ValueError("children_inputs_mappings is for hints of a level above 1, which need it.")
        if kwargs:
            raise NotImplementedError(f"Constant attributes of an OpHint are not supported: {', '.join(kwargs)}.")
        common = function_name, uuid.uuid1().hex
        self._inputs, self._outputs = (
            OpHintArgumentTracker(*common, f"{side}Hint", attr, level, children_inputs_mappings)
            for side, attr in (("Input", OpHint.FUNCTION_INPUT_INDEX_ATTR), ("Output", OpHint.FUNCTION_OUTPUT_INDEX_ATTR))
        )

    def add_input(self, *args: Any, **kwargs: Any) -> Tensor:
        """Marks an input: `arg`, and as keywords tag, name, aggregate ("stack", "first", "last": how inputs of one tag become one), index_override.

        Raises:
          ValueError: tag and aggregate are not given together, or indices contradict.
        """
        return self._inputs.add(*args, **kwargs)

    def add_output(self, *args: Any, **kwargs: Any) -> Tensor:
        """Marks an output; arguments are those of add_input."""
        return self._outputs.add(*args, **kwargs)

    def add_inputs(self, *args: Any, **kwargs: Any) -> list[Tensor]:
        """Marks several inputs. names: a list of names for them."""
        return [self._inputs.add(arg, name=name) for arg, name in zip(args, kwargs.get("names") or [None] * len(args))]

    def add_outputs(self, *args: Any, **kwargs: Any) -> list[Tensor]:
        """Marks several outputs. names: a list of names for them."""
        return [self._outputs.add(arg, name=name) for arg, name in zip(args, kwargs.get("names") or [None] * len(args))]


def _tensor_name_base(full_tensor_name: str) -> str:
    """The name of the node of a tensor, or behind a control input."""
    return full_tensor_name.removeprefix("^").split(":")[0]


def _graph_def_of(session: SessionLike | None, graph_def: messages.GraphDef) -> Any:
    """The GraphDef that is given, or that of the session; ValueError where neither or both are given."""
    if (session is None) == (graph_def is None):
        raise ValueError("Provide only one of session and graph_def.")
    return graph_def if session is None else session.graph.as_graph_def()


def find_all_hinted_output_nodes(session: SessionLike | None = None, graph_def: messages.GraphDef | None = None) -> list[str]:
    """Names of the nodes that mark outputs of hints.

    Raises:
      ValueError: not exactly one of both is given.
    """
    return [node.name for node in _graph_def_of(session, graph_def).node if OpHint.FUNCTION_OUTPUT_INDEX_ATTR in node.attr]


@export("lite.experimental.convert_op_hints_to_stubs")
def convert_op_hints_to_stubs(session: SessionLike | None = None, graph_def: messages.GraphDef | None = None, write_callback: Any = lambda graph_def, comments: None) -> Any:
    """A GraphDef in which each hint is one node of its operator's name.

    Args:
      session, graph_def: the graph; one of both. write_callback: called with the GraphDef and a comment.

    Raises:
      ValueError: neither or both are given.
    """
    found = messages.GraphDef()
    found.CopyFrom(_graph_def_of(session, graph_def))
    nodes = {node.name: node for node in found.node}
    hints: dict[bytes, dict[str, dict[int, list[Any]]]] = {}
    for node in list(found.node):
        for attr in (OpHint.FUNCTION_INPUT_INDEX_ATTR, OpHint.FUNCTION_OUTPUT_INDEX_ATTR):
            if attr in node.attr:
                sides = hints.setdefault(node.attr[OpHint.FUNCTION_UUID_ATTR].s, {})
                sides.setdefault(attr, {}).setdefault(node.attr[attr].i, []).append(node)
    for key, sides in hints.items():
        _add_stub(found, nodes, key.decode(), sides)
    write_callback(found, "final")
    return found


def _add_stub(graph_def: messages.GraphDef, nodes: dict[str, Any], key: str, sides: dict[str, dict[int, list[Any]]]) -> None:
    """Adds the node of one hint, and lets its outputs' identities take from it."""
    deep = next((n.name for side in sides.values() for marked in side.values() for n in marked if n.attr[OpHint.FUNCTION_LEVEL_ATTR].i > 1), None)
    if deep is not None:
        raise NotImplementedError(f"Hints that hold others are not converted: {deep} is of one. Use tf.nn.static_rnn, or tf.nn.dynamic_rnn of a plain cell.")
    inputs, outputs = (sides.get(a, {}) for a in (OpHint.FUNCTION_INPUT_INDEX_ATTR, OpHint.FUNCTION_OUTPUT_INDEX_ATTR))
    first = next(iter(next(iter((inputs or outputs).values()))))
    stub = graph_def.node.add(name=key, op=first.attr[OpHint.FUNCTION_NAME_ATTR].s.decode())
    stub.input.extend(_joined(graph_def, nodes, f"{key}/input{index}", _sorted(inputs[index])) for index in sorted(inputs))
    stub.attr[OpHint.TFLITE_INPUT_INDICES].list.i.extend(sorted(inputs))
    for index in sorted(outputs):
        marked = _sorted(outputs[index])
        source = f"{key}:{index}" if index else key
        if _aggregate(marked) == OpHint.AGGREGATE_STACK:
            _take_apart(graph_def, nodes, source, f"{key}/output{index}", marked)
        else:
            for node in marked:
                node.input[:] = [source]


def _sorted(marked: list[Any]) -> list[Any]:
    return sorted(marked, key=lambda node: node.attr[OpHint.FUNCTION_SORT_INDEX_ATTR].i)


def _aggregate(marked: Iterable[Any]) -> str:
    return str(next(iter(marked)).attr[OpHint.FUNCTION_AGGREGATE_ATTR].s.decode())


def _joined(graph_def: messages.GraphDef, nodes: dict[str, Any], name: str, marked: list[Any]) -> str:
    """The name of the tensor that the inputs of one index are together."""
    sources = [_behind_identities(nodes, str(node.input[0])) for node in marked]
    aggregate = _aggregate(marked)
    if aggregate != OpHint.AGGREGATE_STACK:
        return sources[-1 if aggregate == OpHint.AGGREGATE_LAST else 0]
    unpack = nodes.get(_tensor_name_base(sources[0]))
    if unpack is not None and unpack.op == "Unpack" and unpack.attr["axis"].i == 0 and unpack.attr["num"].i == len(sources):
        if [s.removesuffix(":0") for s in sources] == [unpack.name, *(f"{unpack.name}:{i}" for i in range(1, len(sources)))]:
            return str(unpack.input[0])
    pack = graph_def.node.add(name=name, op="Pack")
    pack.input.extend(sources)
    pack.attr["N"].i, pack.attr["axis"].i, pack.attr["T"].type = len(sources), 0, marked[0].attr["T"].type
    return name


def _behind_identities(nodes: dict[str, Any], source: str) -> str:
    """The tensor that a chain of identities hands on."""
    while (node := nodes.get(_tensor_name_base(source))) is not None and node.op == "Identity":
        source = str(node.input[0])
    return source


def _take_apart(graph_def: messages.GraphDef, nodes: dict[str, Any], source: str, name: str, marked: list[Any]) -> None:
    """Lets the outputs of one index take their parts of a stacked tensor; what stacks all of them again takes it whole."""
    unpack = nodes[name] = graph_def.node.add(name=name, op="Unpack")
    unpack.input.append(source)
    unpack.attr["num"].i, unpack.attr["axis"].i, unpack.attr["T"].type = len(marked), 0, marked[0].attr["T"].type
    for position, node in enumerate(marked):
        node.input[:] = [f"{name}:{position}" if position else name]
    for node in graph_def.node:
        if node.op == "Pack" and node.attr["axis"].i == 0 and list(node.input) == [m.name for m in marked]:
            kind = node.attr["T"].type
            node.op, node.input[:] = "Identity", [source]
            node.attr.clear()
            node.attr["T"].type = kind
