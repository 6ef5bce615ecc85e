"""A frozen GraphDef -> Model: cut at the inputs, fold what is known, lower node by node, simplify."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lite import model as lite
from tfcompat._src.lite import passes, rules_hinted, rules_nn, rules_tensor_array  # noqa: F401  the rules register themselves
from tfcompat._src.lite.any_ops import import_any_ops
from tfcompat._src.lite.control_flow import is_pivot, lower_items
from tfcompat._src.lite.errors import ConverterError
from tfcompat._src.lite.fold_constants import fold_constants
from tfcompat._src.lite.lowering import BUILTINS_ALONE, Allowed, Lowering, finish
from tfcompat._src.lite.op_table import DROPPED
from tfcompat._src.lite.shapes import array_sizes, refine
from tfcompat._src.nodes import raw
from tfcompat._src.proto import messages
from tfcompat._src.runtime.passes.fold import fold
from tfcompat._src.runtime.passes.plan_guards import NOTHING_FED
from tfcompat._src.runtime.passes.prune import prune
from tfcompat._src.runtime.passes.structure import structure
from tfcompat._src.runtime.session.session import Session

_LEAVES = frozenset(("Const", "VariableV2", "Variable", "VarHandleOp"))
_VARIABLES = frozenset(("VariableV2", "Variable", "VarHandleOp"))


@dataclasses.dataclass(frozen=True)
class Input:
    """One input array: its name, sizes, and dtype (None for that of the node)."""

    name: str
    shape: tuple[int, ...]
    dtype: dtypes.DType | None = None


@dataclasses.dataclass
class Imported:
    """A frozen graph with placeholders where it is cut.

    Attributes:
      names: names of the fed tensors. values: what tensors hold without a run.
    """

    graph: Graph
    inputs: list[Tensor]
    outputs: list[Tensor]
    ops: list[Operation]
    names: dict[Tensor, str]
    values: dict[Tensor, NDArray]


def convert_graph(graph_def: messages.GraphDef, inputs: Sequence[Input], outputs: Sequence[str], allowed: Allowed = BUILTINS_ALONE,
                  drop_control_dependency: bool = True, fuse_activations: bool = True) -> lite.Model:  # fmt: skip
    """The model of a frozen GraphDef.

    Args:
      graph_def: a GraphDef message. inputs: where it is cut. outputs: names of tensors ("a" for "a:0").
      allowed: which operators the model may have.
      drop_control_dependency: pass over control inputs, which a model does not have; else they are an error.
      fuse_activations: let operators apply the activation behind them.

    Raises:
      ConverterError: the graph cannot be converted: an op without an operator, a variable, a missing input, a size that is not known.
    """
    imported = import_cut(graph_def, inputs, outputs, drop_control_dependency)
    low = Lowering(imported.values, imported.names, allowed)
    fed = [low.tensor(t) for t in imported.inputs]
    low.subgraphs.append(lite.Subgraph([], [], []))
    found = structure(imported.ops, imported.outputs, set(imported.inputs), NOTHING_FED, imported.values)
    low.values = dict(found.known)
    lower_items(low, found.items)
    low.subgraphs[0] = finish(low, fed, imported.outputs)
    model = lite.Model(low.subgraphs)
    refuse_unsupported(model, low.unsupported, allowed)
    for subgraph in model.subgraphs:
        fold_constants(subgraph)
        passes.simplify(subgraph, fuse_activations)
    for operator in model.operators():
        if operator.builtin == "CUSTOM":
            for tensor in operator.outputs:
                tensor.shape = ()  # the runtime finds the sizes when the model runs
    return model


def import_cut(graph_def: messages.GraphDef, inputs: Sequence[Input], outputs: Sequence[str], drop_control_dependency: bool = True) -> Imported:
    """The part of a GraphDef between inputs and outputs, in a graph of its own, with what is known of its values."""
    needed = _needed(graph_def, {_full_name(i.name) for i in inputs}, outputs, drop_control_dependency)
    with Graph().as_default() as graph:
        fed = [_placeholder(graph_def, i) for i in inputs]
        input_map = {_full_name(i.name): t for i, t in zip(inputs, fed)}
        import_any_ops(needed, {k: t for k, t in input_map.items() if _is_taken(needed, k)})
        found = [input_map[n] if (n := _full_name(name)) in input_map else graph.get_tensor_by_name(n) for name in outputs]
        ops = prune(found, [], fed)
        values = fold(ops, set(fed))
        refine(ops, values)
        values = fold(ops, set(fed), {**values, **array_sizes(ops, values)})
        _add_large_constants(graph, ops, set(fed), values, found)
    names = {t: i.name.removesuffix(":0") for t, i in zip(fed, inputs)}
    fed_ops = {t.op for t in fed}
    return Imported(graph, fed, found, [op for op in ops if op not in fed_ops], names, values)


def _full_name(name: str) -> str:
    return name if ":" in name else name + ":0"


def _node_name(reference: str) -> str:
    return reference.lstrip("^").split(":")[0]


def _needed(graph_def: messages.GraphDef, fed: set[str], outputs: Sequence[str], drop_control_dependency: bool) -> Any:
    """The nodes between what is fed and the outputs, without control inputs that only order them."""
    nodes = {node.name: node for node in graph_def.node}
    pending = [_node_name(name) for name in outputs if _full_name(name) not in fed]
    needed: set[str] = set()
    while pending:
        name = pending.pop()
        if name in needed:
            continue
        if name not in nodes:
            raise ConverterError(f"The graph has no node '{name}': an output, or an input of a node, names it.")
        needed.add(name)
        if nodes[name].op in _VARIABLES:
            raise ConverterError(f"'{name}' is a variable: freeze the graph first (tf.graph_util.convert_variables_to_constants).")
        data = _inputs(nodes[name], nodes)
        if len(data) < len(nodes[name].input) and not drop_control_dependency:
            raise ConverterError(f"'{name}' has control dependencies, which TensorFlow Lite does not have; set drop_control_dependency.")
        pending.extend(_node_name(r) for r in data if _full_name(r) not in fed)
    found = messages.GraphDef(library=graph_def.library, versions=graph_def.versions)
    for node in graph_def.node:
        if node.name in needed:
            kept = found.node.add()
            kept.CopyFrom(node)
            kept.attr.pop("_class", None)  # colocation with nodes that are not needed
            del kept.input[:]
            kept.input.extend(_inputs(node, nodes))
    return found


def _inputs(node: Any, nodes: dict[str, Any]) -> list[str]:
    """The inputs of a node without control inputs, except those that say in which branch or loop it is."""
    return [r for r in node.input if not r.startswith("^") or is_pivot(nodes.get(r[1:]), nodes)]


def _is_taken(graph_def: messages.GraphDef, tensor: str) -> bool:
    return any(_full_name(r) == tensor for node in graph_def.node for r in node.input)


def _placeholder(graph_def: messages.GraphDef, given: Input) -> Tensor:
    dtype = given.dtype
    if dtype is None:
        node = next((n for n in graph_def.node if n.name == _node_name(given.name)), None)
        if node is None:
            raise ConverterError(f"The graph has no node '{given.name}', which is to be an input.")
        number = node.attr["dtype"].type or node.attr["T"].type
        if not number:
            raise ConverterError(f"The dtype of the input '{given.name}' is not known.")
        dtype = dtypes.as_dtype(number)
    found: Tensor = raw.Placeholder(dtype=dtype.base_dtype, shape=TensorShape(given.shape), name="tflite_input")
    return found


def _add_large_constants(graph: Graph, ops: list[Operation], fed: set[Tensor], values: dict[Tensor, NDArray], outputs: list[Tensor]) -> None:
    """Computes, in one run, what constants alone determine and `fold` leaves because it is large or has no NumPy kernel."""
    fixed: set[Tensor] = set(values)
    for op in ops:
        effects = op.spec.effects
        if op.type == "Const":
            fixed.update(op.outputs)
        elif op.takes and all(t in fixed for t in op.takes) and not (effects.is_stateful or effects.reads or effects.writes):
            if op.type not in ("Enter", "RefEnter"):
                fixed.update(t for t in op.outputs if t not in fed)
    wanted = [t for op in ops if op.type not in DROPPED and not all(o in fixed for o in op.outputs) for t in op.takes]
    missing = list(dict.fromkeys(t for t in [*wanted, *outputs] if t in fixed and t not in values))
    if missing:
        with Session(graph=graph) as session:
            values.update(zip(missing, map(np.asarray, session.run(missing))))


_UNSUPPORTED = (
    "Some of the operators in the model are not supported by the standard TensorFlow Lite runtime. If those are native TensorFlow "
    "operators, you might be able to use the extended runtime by passing --enable_select_tf_ops, or by setting "
    "target_ops=TFLITE_BUILTINS,SELECT_TF_OPS when calling tf.lite.TFLiteConverter(). Otherwise, if you have a custom implementation "
    "for them you can disable this error with --allow_custom_ops, or by setting allow_custom_ops=True when calling "
    "tf.lite.TFLiteConverter(). Here is a list of builtin operators you are using: {builtins}. Here is a list of operators for which "
    "you will need custom implementations: {custom}."
)
"""TOCO's words (lite/toco/tflite/export.cc of 1.15)."""
_UNRECOGNIZED = (
    "Some of the operators in the model are not supported by the standard TensorFlow Lite runtime and are not recognized by "
    "TensorFlow. If you have a custom implementation for them you can disable this error with --allow_custom_ops, or by setting "
    "allow_custom_ops=True when calling tf.lite.TFLiteConverter(). Here is a list of builtin operators you are using: {builtins}. "
    "Here is a list of operators for which you will need custom implementations: {custom}."
)
"""Its words where ops of TensorFlow are allowed."""


def refuse_unsupported(model: lite.Model, unsupported: set[str], allowed: Allowed) -> None:
    """Raises ConverterError, in TOCO's words, where custom operators are needed and not allowed."""
    if unsupported and not allowed.custom:
        builtins = sorted({o.builtin for o in model.operators()} - {"CUSTOM"})
        raise ConverterError((_UNRECOGNIZED if allowed.select else _UNSUPPORTED).format(builtins=", ".join(builtins), custom=", ".join(sorted(unsupported))))
