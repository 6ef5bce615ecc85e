"""tf.train.do_quantize_training_on_graphdef: a graph whose matrix products and convolutions train with rounded inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.export import export
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.graph.tensor_proto import make_ndarray, make_tensor_proto
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import constant
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.proto import messages

_ROUNDED = ("MatMul", "Conv2D")
_DECAY = 0.999
_MAX_BITS = 63
_UNKNOWN_ALLOWED = 2


@dataclass(frozen=True)
class _Kind:
    """What is known of the values of a node: whether they may be negative, and between which numbers they are."""

    signed: bool
    limits: tuple[float, float] | None = None
    known: bool = True


_KINDS = {
    "Const": _Kind(True), "Variable": _Kind(True), "VariableV2": _Kind(True), "Relu": _Kind(False), "Relu6": _Kind(False, (0.0, 6.0)),
    "Sigmoid": _Kind(False, (0.0, 1.0)), "Tanh": _Kind(True, (-1.0, 1.0)),
}  # fmt: skip
_AS_FIRST_INPUT = ("Reshape", "ConcatV2", "Identity", "MaxPool", "AvgPool", "MaxPool3D", "AvgPool3D")


def _kind(op: Operation) -> _Kind:
    while op.type in _AS_FIRST_INPUT:
        op = op.inputs[0].op
        if op.type not in _KINDS and op.type not in _AS_FIRST_INPUT:
            return _Kind(True)
    return _KINDS.get(op.type, _Kind(True, known=False))


@export("train.do_quantize_training_on_graphdef")
def do_quantize_training_on_graphdef(input_graph: messages.GraphDef, num_bits: int) -> messages.GraphDef:
    """A graph where inputs of MatMul and Conv2D are rounded to a number of bits, between limits that are constants or learned.

    Limits are constants behind Relu6, Sigmoid and Tanh, else moving averages of minimum and maximum, in variables that each run
    updates and that need no initializer; where the graph saves variables, it saves and restores them too. Nodes whose names
    begin with "gradients" stay as they are.

    Args:
      input_graph: a GraphDef with a SaveV2 node at most.
      num_bits: bits of a rounded number, 1 to 63.

    Returns:
      The new GraphDef.

    Raises:
      OutOfRangeError: `num_bits` is out of range.
      UnimplementedError: more than two inputs come from ops of which nothing is known; such inputs are taken to be the model's.
      InvalidArgumentError: there are several SaveV2 nodes, or one without its restore_all.
    """
    if not 1 <= num_bits <= _MAX_BITS:
        raise errors.OutOfRangeError(None, None, f"num_bits should be in range [1, 63] but is: {num_bits}")
    saves = [node.name for node in input_graph.node if node.op == "SaveV2"]
    if len(saves) > 1:
        raise errors.InvalidArgumentError(None, None, "Input graph has multiple SaveV2 ops.")
    graph = Graph()
    with graph.as_default():
        import_graph_def(input_graph, name="")
        variables = _round_inputs(graph, num_bits)
        restores = _add_restores(graph, saves[0], variables) if saves else []
    result = graph.as_graph_def()
    if saves:
        _connect_saves(result, saves[0], variables, restores)
    return result


def _round_inputs(graph: Graph, num_bits: int) -> list[Tensor]:
    """Puts rounding before the inputs of nodes; the variables that it made."""
    rounded: dict[str, Tensor] = {}
    variables: list[Tensor] = []
    unknown = 0
    for op in [op for op in graph.get_operations() if op.type in _ROUNDED and not op.name.startswith("gradients")]:
        for index, source in enumerate([tensor.op for tensor in op.inputs]):
            kind = _kind(source)
            unknown += not kind.known
            if unknown > _UNKNOWN_ALLOWED:
                raise errors.UnimplementedError(
                    None, None,
                    f"Found an unknown op: {source.name} with type: {source.type}; Unknown ops are considered as model input for now "
                    f"and only {_UNKNOWN_ALLOWED} inputs are supported currently.",
                )  # fmt: skip
            if source.name not in rounded:
                low, high = _limits(source, kind, variables)
                rounded[source.name] = raw.QuantizeAndDequantizeV2(
                    source.outputs[0], low, high, signed_input=kind.signed, num_bits=num_bits, range_given=True,
                    name=f"{source.name}/QuantizeAndDequantizeV2",
                )  # fmt: skip
            op._update_input(index, rounded[source.name])
    return variables


def _limits(source: Operation, kind: _Kind, variables: list[Tensor]) -> list[Tensor]:
    name, value = source.name, source.outputs[0]
    if kind.limits:
        return [constant(limit, dtypes.float32, name=f"{name}/Input{end}") for limit, end in zip(kind.limits, ("Min", "Max"))]
    decay = constant(_DECAY, dtypes.float32, name=f"{name}/Decay")
    axes = f"{name}/ReductionAxes"
    start, step = (constant(number, dtypes.int32, name=f"{axes}/Range{what}") for number, what in ((0, "Start"), (1, "Delta")))
    axes_of_all = raw.Range(start, raw.Rank(value, name=f"{axes}/InputRank"), step, name=f"{axes}/ReductionAxes")
    ends = [reduce(value, axes_of_all, name=f"{name}/{reduce.__name__}") for reduce in (raw.Min, raw.Max)]
    return [_average(end, decay, variables) for end in ends]


def _average(value: Tensor, decay: Tensor, variables: list[Tensor]) -> Tensor:
    """A variable's new value: the moving average of a scalar, which begins with the scalar of the first run."""
    name = value.op.name
    variable = raw.VariableV2(shape=[], dtype=dtypes.float32, name=f"{name}/Variable")
    variables.append(variable)
    first, later = raw.Switch(value, raw.IsVariableInitialized(variable, name=f"{name}/IsInitialized"), name=f"{name}/Switch")
    one = constant(1.0, dtypes.float32, name=f"{name}/EMA/OneConst")
    rate = raw.Sub(one, decay, name=f"{name}/EMA/DecayComplement")
    change = raw.Mul(raw.Sub(variable, later, name=f"{name}/EMA/ValueDiff"), rate, name=f"{name}/EMA/UpdateValue")
    average = raw.Sub(variable, change, name=f"{name}/EMA/EMAValue")
    new = raw.Merge([first, average], name=f"{name}/Merge")
    return raw.Assign(variable, new[0], name=f"{name}/AssignValue")


def _add_restores(graph: Graph, save: str, variables: list[Tensor]) -> list[Operation]:
    """Assignments of the variables' values in a checkpoint, one for each."""
    scope, prefix = save.rpartition("/")[0], graph.get_operation_by_name(save).inputs[0]
    assigned = []
    for number, variable in enumerate(variables):
        name = f"{scope}/RestoreV2/_{2 * number}_qt"
        names, slices = (
            constant([text], name=f"{name}/{what}") for text, what in ((variable.op.name, "tensor_names"), ("", "shape_and_slices"))
        )
        (value,) = raw.RestoreV2(prefix, names, slices, dtypes=[dtypes.float32], name=name)
        assigned.append(raw.Assign(variable, value, name=f"{scope}/Assign/_{2 * number + 1}_qt").op)
    return assigned


def _connect_saves(graph_def: messages.GraphDef, save: str, variables: list[Tensor], restores: list[Operation]) -> None:
    """Makes a SaveV2 node write the variables, and the node that stands for restoring wait for their assignments."""
    nodes: dict[str, Any] = {node.name: node for node in graph_def.node}
    restore_all = nodes.get(save.rpartition("/")[0] + "/restore_all")
    if restore_all is None:
        raise errors.InvalidArgumentError(None, None, "graph has SaveOp, but no restore_all NoOp")
    restore_all.input[:] = sorted((*restore_all.input, *(f"^{op.name}" for op in restores)))
    node = nodes[save]
    for place, added in ((1, [v.op.name.encode() for v in variables]), (2, [b""] * len(variables))):
        held = nodes[node.input[place]].attr["value"].tensor
        held.CopyFrom(make_tensor_proto([*make_ndarray(held).tolist(), *added], dtypes.string))
    controls = [name for name in node.input if name.startswith("^")]
    data = [name for name in node.input if not name.startswith("^")]
    node.input[:] = [*data, *(v.op.name for v in variables), *controls]
    node.attr["dtypes"].list.type.extend([dtypes.float32.as_datatype_enum] * len(variables))
