"""Nodes of a graph -> operators of a subgraph, one after another: by a row of the table, or by a rule of the op type."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lite import custom_options
from tfcompat._src.lite import model as lite
from tfcompat._src.lite.errors import ConverterError
from tfcompat._src.lite.op_table import DROPPED, FORWARDS, TABLE, VERSIONS, Row

Rule = Callable[["Lowering", Operation], None]
RULES: dict[str, Rule] = {}
SHAPE_OF_FLOW: list[Callable[[Lowering, Tensor], tuple[tuple[int, ...], str] | None]] = []
"""Filled by rules_tensor_array."""


def rule(*op_types: str) -> Callable[[Rule], Rule]:
    """Registers how nodes of some op types are lowered."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(op_types, function))
        return function

    return register


@dataclasses.dataclass(frozen=True)
class Allowed:
    """Which operators a model may have: TensorFlow Lite's own, ops of TensorFlow (for its Flex delegate), custom ones."""

    builtins: bool = True
    select: bool = False
    custom: bool = False


BUILTINS_ALONE = Allowed()


class Lowering:
    """Makes one subgraph.

    Args:
      values: values of the tensors that are known before the model runs.
      names: names of tensors that are not to be named as their node is: those that are fed.
      allowed: which operators the model may have.
    """

    def __init__(self, values: dict[Tensor, NDArray], names: dict[Tensor, str], allowed: Allowed = BUILTINS_ALONE) -> None:
        self.values = values
        self.names = names
        self.allowed = allowed
        self.operators: list[lite.Operator] = []
        self.tensors: dict[Tensor, lite.Tensor] = {}
        self.unsupported: set[str] = set()
        self.taken: set[str] = set()
        self.subgraphs: list[lite.Subgraph] = []
        """Branches, conditions and bodies; of the whole model, which index 0 is the main part of."""
        self.parent: Lowering | None = None
        self.inside: set[Tensor] = set()
        self.captures: dict[Tensor, lite.Tensor] = {}
        """Inputs for tensors of the parent."""
        self.outer: dict[Tensor, Tensor] = {}
        """Names that tensors of the parent have inside."""

    def inner(self, ops: Iterable[Operation]) -> Lowering:
        """A lowering of a branch or a loop's part, whose operations are `ops`."""
        found = Lowering(dict(self.values), {}, self.allowed)
        found.parent, found.unsupported, found.subgraphs = self, self.unsupported, self.subgraphs
        found.inside = {t for op in ops for t in op.outputs}
        return found

    def root(self) -> Lowering:
        """The lowering of the main part."""
        return self if self.parent is None else self.parent.root()

    def input_like(self, tensor: lite.Tensor) -> lite.Tensor:
        """A new tensor of the shape and type of one of the parent."""
        return self.temporary(tensor.name, tensor.shape, tensor.dtype)

    def _captured(self, tensor: Tensor) -> lite.Tensor | None:
        """The input for a tensor that the parent has; None for one of its own."""
        source = self.outer.get(tensor, tensor)
        if self.parent is None or source in self.inside or source in self.values:
            return None
        given = self.parent.tensor(source)
        if given.data is not None and given.data.size > 0:
            return lite.Tensor(self.name(given.name), given.shape, given.dtype, given.data)
        if source not in self.captures:
            self.captures[source] = self.input_like(given)
        return self.captures[source]

    def lower(self, ops: Iterable[Operation]) -> None:
        """Adds the operators of nodes, which come in the order in which they run."""
        for op in ops:
            if op.type in DROPPED or all(t in self.values or t in self.tensors for t in op.outputs):
                continue
            if op.type in FORWARDS:
                for source, target in zip(op.inputs, op.outputs):
                    self.forward(source, target)
            elif not self.allowed.builtins:
                self._custom(op)
            elif op.type in RULES:
                RULES[op.type](self, op)
            elif op.type in TABLE:
                self._by_row(TABLE[op.type], op)
            else:
                self._custom(op)

    def _by_row(self, row: Row, op: Operation) -> None:
        for name, required in row.requires:
            if op.get_attr(name) != required:
                raise ConverterError(f"{op.type} '{op.name}' has {name} = {op.get_attr(name)}: TensorFlow Lite needs {required}.")
        options = {field: op.get_attr(attribute) for field, attribute in row.options}
        inputs = op.inputs if row.inputs is None else [op.inputs[i] for i in row.inputs]
        self.emit(row.builtin, [self.tensor(t) for t in inputs], self.outputs(op), **options, **dict(row.fixed))

    def _custom(self, op: Operation) -> None:
        if op.type in ("Placeholder", "PlaceholderV2"):
            raise ConverterError(f"'{op.name}' is a placeholder that the outputs need and that is not among the inputs.")
        code = op.type
        if self.allowed.select and op.type in custom_options.FLEX_OPS:
            code = custom_options.FLEX + op.type
        else:
            self.unsupported.add(op.type)
        names = [self.names.get(t) or t._as_node_def_input() for t in op.inputs]
        options = custom_options.of_node(op, names) if self.allowed.select else custom_options.of_attributes(op)
        self.operators.append(lite.Operator("CUSTOM", [self.tensor(t) for t in op.inputs], self.outputs(op), {}, code, options))

    def tensor(self, tensor: Tensor) -> lite.Tensor:
        """The tensor of the model for a tensor of the graph; a constant where its value is known."""
        found = self.tensors.get(tensor)
        if found is None:
            found = self._captured(tensor)
            if found is not None:
                self.tensors[tensor] = found
        if found is None:
            value = self.values.get(tensor)
            name = self.names.get(tensor) or tensor_name(tensor if value is None else _origin(tensor))
            if value is None:
                array = self.shape_of_flow(tensor)
                found = lite.Tensor(self.name(name), *(array or (static_shape(tensor), tensor_type(tensor))))
            else:
                found = lite.constant(self.name(name), _storable(value, tensor))
                found.quantization = self._given_range(tensor)
            self.tensors[tensor] = found
        return found

    def _given_range(self, tensor: Tensor) -> lite.Quantization | None:
        """The range, without a scale, of a constant that a FakeQuant op gives; None of others."""
        op = _origin(tensor).op
        if op.type == "FakeQuantWithMinMaxArgs":
            bounds = [op.get_attr("min"), op.get_attr("max")]
        elif op.type == "FakeQuantWithMinMaxVars":
            bounds = [self.value(t, " (a bound)") for t in op.takes[1:]]
        else:
            return None
        lower, upper = (np.asarray(b, np.float32).reshape(1) for b in bounds)
        return lite.Quantization(np.zeros(0, np.float32), np.zeros(0, np.int64), lower, upper)

    def shape_of_flow(self, tensor: Tensor) -> tuple[tuple[int, ...], str] | None:
        """Shape and type of the elements of a TensorArray by its flow; None for other tensors."""
        return SHAPE_OF_FLOW[0](self, tensor) if SHAPE_OF_FLOW else None

    def copied(self, tensor: lite.Tensor, name: str) -> lite.Tensor:
        """A copy of a tensor, by an operator: outputs of a subgraph are tensors of their own."""
        target = self.temporary(name, tensor.shape, tensor.dtype)
        if tensor.shape:
            self.reshape(tensor, target)
        else:
            number = lite.TENSOR_TYPES.index(tensor.dtype)
            self.emit("CAST", [tensor], [target], in_data_type=number, out_data_type=number)
        return target

    def outputs(self, op: Operation) -> list[lite.Tensor]:
        """The tensors of a node's outputs."""
        return [self.tensor(t) for t in op.outputs]

    def value(self, tensor: Tensor, what: str = "") -> NDArray:
        """The value of an input that must be known when the model is converted."""
        found = self.values.get(tensor)
        if found is None:
            raise ConverterError(f"'{tensor.name}'{what} must be a constant: TensorFlow Lite needs it when the model is converted.")
        return found

    def forward(self, source: Tensor, target: Tensor) -> None:
        """Makes `target` another name of `source`."""
        if source in self.values:
            self.values[target] = self.values[source]
        self.tensors[target] = self.tensor(source)

    def emit(self, builtin: str, inputs: list[lite.Tensor | None], outputs: list[lite.Tensor], **options: Any) -> None:
        """Adds an operator."""
        self.operators.append(lite.Operator(builtin, inputs, outputs, options, version=VERSIONS.get(builtin, 1)))

    def constant(self, name: str, value: object) -> lite.Tensor:
        """A new constant."""
        return lite.constant(self.name(name), value)

    def temporary(self, name: str, shape: Iterable[int], dtype: str) -> lite.Tensor:
        """A new tensor between two operators."""
        return lite.Tensor(self.name(name), tuple(int(s) for s in shape), dtype)

    def reshape(self, source: lite.Tensor, target: lite.Tensor) -> None:
        """Adds a RESHAPE of `source` to the shape of `target`."""
        shape = np.asarray(target.shape, np.int32)
        self.emit("RESHAPE", [source, self.constant(target.name + "_shape", shape)], [target], new_shape=target.shape)

    def transpose(self, source: lite.Tensor, permutation: list[int], name: str) -> lite.Tensor:
        """The transposed tensor: a constant of a constant, else by a TRANSPOSE."""
        if source.data is not None:
            found = self.constant(name, np.ascontiguousarray(np.transpose(source.data, permutation)))
            found.quantization = source.quantization
            return found
        target = self.temporary(name, [source.shape[i] for i in permutation], source.dtype)
        self.emit("TRANSPOSE", [source, self.constant(name + "/perm", np.asarray(permutation, np.int32))], [target])
        return target

    def name(self, wanted: str) -> str:
        """A name that no other tensor has."""
        found, count = wanted, 0
        while found in self.taken:
            found, count = f"{wanted}_{count}", count + 1
        self.taken.add(found)
        return found


def finish(low: Lowering, inputs: list[lite.Tensor], outputs: Iterable[Tensor], copies_constants: bool = False, name: str = "") -> lite.Subgraph:
    """The subgraph of what was lowered; each output is a tensor of its own, under the name of the graph's tensor."""
    found: list[lite.Tensor] = []
    for output in outputs:
        tensor = low.tensor(output)
        wanted = low.names.get(output) or tensor_name(output)
        if tensor in inputs or tensor in found or (tensor.data is not None and (low.operators or copies_constants)):
            tensor = low.copied(tensor, wanted)
        elif tensor.name != wanted and wanted not in low.taken:
            tensor.name = low.name(wanted)
        found.append(tensor)
    return lite.Subgraph(inputs, found, low.operators, name)


def tensor_name(tensor: Tensor) -> str:
    """The name of a tensor without the ":0" of first outputs."""
    return tensor.name.removesuffix(":0")


def _origin(tensor: Tensor) -> Tensor:
    """The constant that a tensor reads."""
    while tensor.op.type in FORWARDS and tensor.op.inputs:
        tensor = tensor.op.inputs[tensor.value_index if tensor.op.type == "IdentityN" else 0]
    return tensor


def static_shape(tensor: Tensor) -> tuple[int, ...]:
    """The sizes of a tensor; none where they are known only when the model runs."""
    sizes = tensor._sizes
    return tuple(s or 0 for s in sizes) if sizes is not None and None not in sizes else ()


def is_static(tensor: Tensor) -> bool:
    """Whether all sizes of a tensor are known."""
    return tensor._sizes is not None and None not in tensor._sizes


def tensor_type(tensor: Tensor) -> str:
    """The type of a tensor in the schema."""
    dtype = np.dtype(tensor.dtype.base_dtype.as_numpy_dtype)
    if dtype not in lite.TYPE_OF:
        raise ConverterError(f"'{tensor.name}' has dtype {tensor.dtype.name}, which TensorFlow Lite does not have.")
    return lite.TYPE_OF[dtype]


def _storable(value: NDArray, tensor: Tensor) -> NDArray:
    return np.asarray(value, lite.NUMPY_TYPES[tensor_type(tensor)])
