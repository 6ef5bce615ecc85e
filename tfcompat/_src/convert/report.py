"""What a conversion says of a model's nodes, and the check of what it wrote."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.convert.model import ConversionError, Model
from tfcompat._src.graph.tensor import Tensor

_NAMES, _TYPES = 3, 6


@dataclass
class Report:
    """Nodes by what has become of them.

    Attributes:
      rows: sentences. notes: what a user should know beside them.
    """

    rows: list[str] = field(default_factory=list)

    def nodes(self, what: str, ops: Iterable[tuple[str, str]], why: str) -> None:
        """Adds a row about nodes, (name, op type) each: how many of each type, and the names of some."""
        found = list(ops)
        if found:
            types = ", ".join(f"{count} {kind}" for kind, count in collections.Counter(kind for _, kind in found).most_common(_TYPES))
            names = ", ".join(name for name, _ in found[:_NAMES]) + (", ..." if len(found) > _NAMES else "")
            self.rows.append(f"{what} {len(found)} nodes, {why}: {types} ({names})")

    def compared(self, model: Model, kept: Iterable[tuple[str, str]]) -> None:
        """Adds rows about the nodes of a graph that a GraphDef made of it has no more, and about variables that are constants there."""
        there = dict(kept)
        ops = [(op.name, op.type) for op in model.session.graph.get_operations()]
        frozen = [(name, kind) for name, kind in ops if kind.startswith("Var") and there.get(name) == "Const"]
        self.nodes("froze", frozen, "variables that became constants")
        self.nodes("dropped", [each for each in ops if each[0] not in there], "which the outputs do not need")


def made_arrays(model: Model, shapes: dict[str, list[int | str]], batch: int) -> dict[str, NDArray]:
    """Arrays for the inputs of a model, from a fixed seed: numbers in [0, 1), integers 0 or 1, strings that the graph has as constants, where
    a table looks them up. Unknown sizes are `batch`.

    Raises:
      ConversionError: an input has strings for something else, or no known rank.
    """
    random, found = np.random.RandomState(0), {}
    for key, tensor in model.inputs.items():
        sizes = shapes.get(key)
        if sizes is None:
            if tensor.shape.ndims is None:
                raise ConversionError(f"The input {key} has no known shape: give one with --shapes {key}=2,3.")
            sizes = tensor.shape.as_list()
        numbers = [size if isinstance(size, int) else batch for size in sizes]
        found[key] = _array(random, tensor, numbers)
    return found


def _array(random: np.random.RandomState, tensor: Tensor, sizes: list[int]) -> NDArray:
    dtype = tensor.dtype.base_dtype
    if dtype.is_floating or dtype.is_complex:
        return random.rand(*sizes).astype(dtype.as_numpy_dtype) if sizes else np.asarray(0.5, dtype.as_numpy_dtype)
    if dtype.is_integer or dtype.is_bool:
        return np.asarray(random.randint(0, 2, sizes), dtype.as_numpy_dtype)
    if any(op.type.startswith("LookupTableFind") for op in tensor.consumers()):
        constants = [op for op in tensor.graph.get_operations() if op.type == "Const" and op.outputs[0].dtype == dtypes.string]
        texts = [text for op in constants for text in op.get_attr("value").string_val]
        return np.array(random.choice([*sorted(set(texts)), b"none of them"], sizes), object)
    raise ConversionError(f"The input {tensor.name} is {dtype.name}, for which no arrays are made: use --no-check.")


def greatest_difference(wanted: dict[str, Any], found: dict[str, Any]) -> tuple[float, float]:
    """The greatest difference of outputs, and the greatest value; ConversionError where shapes or strings differ."""
    most, scale = 0.0, 0.0
    for key, value in wanted.items():
        if np.asarray(value).dtype.kind in "OSU":
            if np.asarray(value).tolist() != np.asarray(found[key]).tolist():
                raise ConversionError(f"The output {key} has other strings in what was written than in the model.")
            continue
        one, other = (np.asarray(array, np.complex128 if np.iscomplexobj(value) else np.float64) for array in (value, found[key]))
        if one.shape != other.shape:
            raise ConversionError(f"The output {key} has shape {list(one.shape)} in the model, and {list(other.shape)} in what was written.")
        if one.size:
            same = (one == other) | (np.isnan(one) & np.isnan(other))
            most = max(most, float(np.max(np.where(same, 0, np.abs(one - other)))))
            scale = max(scale, float(np.max(np.abs(one))))
    return most, scale
