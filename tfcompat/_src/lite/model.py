"""A TensorFlow Lite model in memory: subgraphs of operators on tensors, as the file has them, with references for indices."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfcompat._src.base.arrays import NDArray

_SCHEMA = json.loads((pathlib.Path(__file__).parent / "schema.json").read_text())

BUILTIN_CODES: dict[str, int] = _SCHEMA["builtin_codes"]
"""BuiltinOperator of TensorFlow 1.15's schema by name."""
OPTIONS: list[tuple[str, dict[str, str]]] = [(name, fields) for name, fields in _SCHEMA["options"]]
"""Members of the union BuiltinOptions in its order, from 1 on: name, and kinds of the fields in the order of their slots."""
TENSOR_TYPES = ("FLOAT32", "FLOAT16", "INT32", "UINT8", "INT64", "STRING", "BOOL", "INT16", "COMPLEX64", "INT8")
"""TensorType of the schema, in its order."""
NUMPY_TYPES = {
    "FLOAT32": np.dtype(np.float32), "FLOAT16": np.dtype(np.float16), "INT32": np.dtype(np.int32), "UINT8": np.dtype(np.uint8),
    "INT64": np.dtype(np.int64), "STRING": np.dtype(object), "BOOL": np.dtype(np.bool_), "INT16": np.dtype(np.int16),
    "COMPLEX64": np.dtype(np.complex64), "INT8": np.dtype(np.int8),
}  # fmt: skip
TYPE_OF = {dtype: name for name, dtype in NUMPY_TYPES.items()}
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")
"""ActivationFunctionType of the schema, in its order."""
SAME, VALID = 0, 1
DEFAULTS = {"dilation_w_factor": 1, "dilation_h_factor": 1, "idx_out_type": 2}
"""Fields of options whose default is not 0; files leave fields with the default value out."""
IDENTIFIER = b"TFL3"
SCHEMA_VERSION = 3


@dataclasses.dataclass(eq=False)
class Quantization:
    """How the integers of a tensor are real numbers: real = scale * (integer - zero_point), along `dimension` where there are several.

    Attributes:
      scale: float32 [1] or [size of the dimension]. zero_point: int64, as long. minimum, maximum: float32 range, or None.
    """

    scale: NDArray
    zero_point: NDArray
    minimum: NDArray | None = None
    maximum: NDArray | None = None
    dimension: int = 0


@dataclasses.dataclass(eq=False)
class Tensor:
    """One tensor of a subgraph.

    Attributes:
      shape: its sizes; empty for a scalar and where they are known only when the model runs.
      dtype: a name of TENSOR_TYPES. data: the value of a constant. is_variable: whether it keeps its value between runs.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    data: NDArray | None = None
    quantization: Quantization | None = None
    is_variable: bool = False


@dataclasses.dataclass(eq=False)
class Operator:
    """One operator: a builtin by its name, or "CUSTOM" with a `custom_code`; `inputs` has None where an optional one is absent."""

    builtin: str
    inputs: list[Tensor | None]
    outputs: list[Tensor]
    options: dict[str, Any] = dataclasses.field(default_factory=dict)
    custom_code: str = ""
    custom_options: bytes = b""
    version: int = 1


@dataclasses.dataclass(eq=False)
class Subgraph:
    """Operators in the order in which they run."""

    inputs: list[Tensor]
    outputs: list[Tensor]
    operators: list[Operator]
    name: str = ""
    tensors: list[Tensor] = dataclasses.field(default_factory=list)

    def used(self) -> list[Tensor]:
        """Every tensor that the subgraph names, in the order of names, as TOCO numbers them.

        In branches and bodies the inputs come first: 1.15's IF and WHILE need them there.
        """
        found = dict.fromkeys((*self.inputs, *self.outputs))
        for operator in self.operators:
            found.update(dict.fromkeys(t for t in (*operator.inputs, *operator.outputs) if t is not None))
        first = {tensor: i for i, tensor in enumerate(self.inputs if self.name else ())}
        return sorted(found, key=lambda tensor: (first.get(tensor, len(first)), tensor.name))

    def consumers(self) -> dict[Tensor, list[Operator]]:
        """The operators that take each tensor, once for each time that they do."""
        found: dict[Tensor, list[Operator]] = {}
        for operator in self.operators:
            for tensor in operator.inputs:
                if tensor is not None:
                    found.setdefault(tensor, []).append(operator)
        return found

    def producers(self) -> dict[Tensor, Operator]:
        """The operator that makes each tensor."""
        return {tensor: operator for operator in self.operators for tensor in operator.outputs}


@dataclasses.dataclass(eq=False)
class Model:
    """A whole file; subgraph 0 is what runs, others are bodies that IF and WHILE name by index."""

    subgraphs: list[Subgraph]
    description: str = "TOCO Converted."

    def operators(self) -> Iterator[Operator]:
        """The operators of all subgraphs."""
        for subgraph in self.subgraphs:
            yield from subgraph.operators


def constant(name: str, value: object) -> Tensor:
    """A constant tensor of a NumPy value."""
    value = np.asarray(value)
    return Tensor(name, tuple(value.shape), TYPE_OF[value.dtype], value)


def options_name(builtin: str) -> str:
    """The member of BuiltinOptions that an operator has; "" for none."""
    return _OPTIONS_OF.get(builtin) or _options_by_rule(builtin)


def _options_by_rule(builtin: str) -> str:
    name = "".join(part.capitalize() for part in builtin.split("_")) + "Options"
    return next((known for known, _ in OPTIONS if known.lower() == name.lower()), "")


_OPTIONS_OF = {
    "AVERAGE_POOL_2D": "Pool2DOptions", "MAX_POOL_2D": "Pool2DOptions", "L2_POOL_2D": "Pool2DOptions",
    "MEAN": "ReducerOptions", "SUM": "ReducerOptions", "REDUCE_PROD": "ReducerOptions", "REDUCE_MAX": "ReducerOptions",
    "REDUCE_MIN": "ReducerOptions", "REDUCE_ANY": "ReducerOptions", "MAXIMUM": "MaximumMinimumOptions",
    "MINIMUM": "MaximumMinimumOptions", "L2_NORMALIZATION": "L2NormOptions", "RNN": "RNNOptions",
    "LOCAL_RESPONSE_NORMALIZATION": "LocalResponseNormalizationOptions", "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions",
    "CONV_2D": "Conv2DOptions", "DEPTHWISE_CONV_2D": "DepthwiseConv2DOptions",
}  # fmt: skip
