"""Nodes of a graph -> operators of a subgraph, one after another: by a row of the table, or by a rule of the op type."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lite import model as lite
from tfcompat._src.lite.errors import ConverterError
from tfcompat._src.lite.op_table import DROPPED, FORWARDS, TABLE, VERSIONS, Row

Rule = Callable[["Lowering", Operation], None]
RULES: dict[str, Rule] = {}


def rule(*op_types: str) -> Callable[[Rule], Rule]:
    """Registers how nodes of some op types are lowered."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(op_types, function))
        return function

    return register


class Lowering:
    """Makes one subgraph.

    Args:
      values: values of the tensors that are known before the model runs.
      names: names of tensors that are not to be named as their node is: those that are fed.
      allow_custom: whether ops without an operator become custom ones.
    """

    def __init__(self, values: dict[Tensor, NDArray], names: dict[Tensor, str], allow_custom: bool = False) -> None:
        self.values = values
        self.names = names
        self.allow_custom = allow_custom
        self.operators: list[lite.Operator] = []
        self.tensors: dict[Tensor, lite.Tensor] = {}
        self.unsupported: set[str] = set()
        self.taken: set[str] = set()

    def lower(self, ops: Iterable[Operation]) -> None:
        """Adds the operators of nodes, which come in the order in which they run."""
        for op in ops:
            if op.type in DROPPED or all(t in self.values or t in self.tensors for t in op.outputs):
                continue
            if op.type in FORWARDS:
                for source, target in zip(op.inputs, op.outputs):
                    self.forward(source, target)
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
        self.unsupported.add(op.type)
        operator = lite.Operator("CUSTOM", [self.tensor(t) for t in op.inputs], self.outputs(op), custom_code=op.type)
        self.operators.append(operator)

    def tensor(self, tensor: Tensor) -> lite.Tensor:
        """The tensor of the model for a tensor of the graph; a constant where its value is known."""
        found = self.tensors.get(tensor)
        if found is None:
            value = self.values.get(tensor)
            name = self.names.get(tensor) or tensor_name(tensor if value is None else _origin(tensor))
            if value is None:
                found = lite.Tensor(self.name(name), static_shape(tensor), tensor_type(tensor))
            else:
                found = lite.constant(self.name(name), _storable(value, tensor))
            self.tensors[tensor] = found
        return found

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

    def constant(self, name: str, value: Any) -> lite.Tensor:
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
            return self.constant(name, np.ascontiguousarray(np.transpose(source.data, permutation)))
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
