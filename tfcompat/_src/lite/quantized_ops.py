"""Which operators have int8 kernels, and what those demand (lite/tools/optimize/operator_property.cc of 1.15), as data."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Property:
    """What an operator is on int8.

    Attributes:
      version: its version then. inputs: positions of the activations, None for all. weights: position of the weights, or None.
      axis: the dimension along which weights have scales of their own, or None. output: whether the outputs are int8.
      same_scale: whether outputs have the scale of the inputs. fixed: scale and zero point that the output must have.
    """

    version: int
    inputs: tuple[int, ...] | None = (0,)
    weights: int | None = None
    axis: int | None = None
    output: bool = True
    same_scale: bool = False
    fixed: tuple[float, int] | None = None


def _rows(names: str, row: Property) -> dict[str, Property]:
    return dict.fromkeys(names.split(), row)


PROPERTIES: dict[str, Property] = {
    **_rows("ADD MUL SUB", Property(2, (0, 1))),
    **_rows("AVERAGE_POOL_2D BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND SPACE_TO_DEPTH GATHER MAX_POOL_2D PAD PADV2 RESIZE_BILINEAR SLICE TRANSPOSE",
            Property(2, same_scale=True)),
    **_rows("RESHAPE SQUEEZE", Property(1, same_scale=True)),
    **_rows("CONCATENATION", Property(2, None, same_scale=True)),
    **_rows("MAXIMUM MINIMUM", Property(2, (0, 1), same_scale=True)),
    **_rows("EQUAL NOT_EQUAL GREATER GREATER_EQUAL LESS LESS_EQUAL", Property(2, (0, 1), output=False)),
    **_rows("MEAN SUM", Property(2)),
    "ARG_MAX": Property(2, output=False), "SHAPE": Property(1, output=False), "HARD_SWISH": Property(1),
    "CONV_2D": Property(3, weights=1, axis=0), "DEPTHWISE_CONV_2D": Property(3, weights=1, axis=3),
    "FULLY_CONNECTED": Property(4, weights=1),
    "LOG_SOFTMAX": Property(2, fixed=(16 / 256, 127)), "SOFTMAX": Property(2, fixed=(1 / 256, -128)),
    "LOGISTIC": Property(2, fixed=(1 / 256, -128)), "TANH": Property(2, fixed=(1 / 128, 0)),
    "L2_NORMALIZATION": Property(2, fixed=(1 / 128, 0)),
}  # fmt: skip

WEIGHTS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "EMBEDDING_LOOKUP"), (1,)),
    "GATHER": (0,), "UNIDIRECTIONAL_SEQUENCE_LSTM": (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 16),
}  # fmt: skip
"""Positions of weights that may be int8 while activations are float (lite/tools/optimize/quantize_weights.cc of 1.15)."""

HYBRID = {"CONV_2D": 2, "FULLY_CONNECTED": 3, "UNIDIRECTIONAL_SEQUENCE_LSTM": 2}
"""Versions of the operators that take int8 weights with float activations; others need the weights dequantized."""
