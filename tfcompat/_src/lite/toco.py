"""tf.lite.toco_convert: one conversion, with everything that it depends on as arguments."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lite import constants, graphviz, quantize, writer
from tfcompat._src.lite.convert_graph import Input, convert_graph
from tfcompat._src.lite.freeze import get_tensor_name
from tfcompat._src.lite.lowering import Allowed

if TYPE_CHECKING:
    from tfcompat._src.base.dtypes import DTypeLike
    from tfcompat._src.proto import messages

_TYPES = frozenset((
    dtypes.float32, dtypes.float16, dtypes.int32, dtypes.int64, dtypes.string, dtypes.uint8, dtypes.int8, dtypes.complex64, dtypes.bool,
))  # fmt: skip


@export("lite.OpsSet")
class OpsSet(enum.Enum):
    """Which operators a model may have: builtin ones, ops of TensorFlow, builtin ones on int8."""

    TFLITE_BUILTINS = "TFLITE_BUILTINS"
    SELECT_TF_OPS = "SELECT_TF_OPS"
    TFLITE_BUILTINS_INT8 = "TFLITE_BUILTINS_INT8"

    def __str__(self) -> str:
        return self.value

    @staticmethod
    def get_options() -> list[str]:
        """The names of the members."""
        return [str(option) for option in OpsSet]


@dataclasses.dataclass(frozen=True)
class Flags:
    """What a conversion depends on beside the graph; TocoFlags of 1.15.

    Attributes:
      inference_type: float32, or uint8 for a quantized model. inference_input_type: type of float inputs, None for inference_type.
      output_format: TFLITE or GRAPHVIZ_DOT. quantized_input_stats: (mean, std) of each input, for uint8 ones.
      default_ranges_stats: (min, max) of tensors without a range. drop_control_dependency: pass over control inputs.
      reorder_across_fake_quant, change_concat_input_ranges: refused for graphs with FakeQuant nodes, which keep their ranges.
      allow_custom_ops: custom operators for ops that there are none for. post_training_quantize: weights as int8.
      quantize_to_float16: weights as float16. dump_graphviz_dir: a folder for the graph as .dot before and after its passes.
      dump_graphviz_video: also after each pass. target_ops: the OpsSet members that are allowed.
    """

    inference_type: dtypes.DType = constants.FLOAT
    inference_input_type: dtypes.DType | None = None
    input_format: int = constants.TENSORFLOW_GRAPHDEF
    output_format: int = constants.TFLITE
    quantized_input_stats: Sequence[tuple[float, float]] | None = None
    default_ranges_stats: tuple[float, float] | None = None
    drop_control_dependency: bool = True
    reorder_across_fake_quant: bool = False
    allow_custom_ops: bool = False
    change_concat_input_ranges: bool = False
    post_training_quantize: bool = False
    quantize_to_float16: bool = False
    dump_graphviz_dir: str | None = None
    dump_graphviz_video: bool = False
    target_ops: Iterable[OpsSet] | None = None
    allow_nonexistent_arrays: bool = False
    debug_info: Any = None
    input_shapes: Any = None

    def check_ranges(self, graph_def: messages.GraphDef) -> None:
        """Raises NotImplementedError where the ranges of a graph are to change."""
        for name in ("reorder_across_fake_quant", "change_concat_input_ranges"):
            if getattr(self, name) and any(node.op.startswith("FakeQuant") for node in graph_def.node):
                raise NotImplementedError(f"tfcompat's converter has no {name}: leave it False. The ranges of FakeQuant nodes stay as they are.")

    def input_type(self) -> dtypes.DType:
        """The type of float inputs in the model."""
        return dtypes.as_dtype(self.inference_input_type or self.inference_type)

    def allowed_operators(self) -> Allowed:
        """Which operators the model may have."""
        wanted = set(self.target_ops or ())
        return Allowed(wanted != {OpsSet.SELECT_TF_OPS}, OpsSet.SELECT_TF_OPS in wanted, self.allow_custom_ops)

    def check(self, dtype: DTypeLike) -> None:
        """Raises ValueError for a dtype that TensorFlow Lite does not have."""
        if dtypes.as_dtype(dtype) not in _TYPES:
            raise ValueError(f"Unsupported tf.dtype {dtypes.as_dtype(dtype)!r}")


def _run(graph_def: messages.GraphDef, inputs: list[Input], outputs: list[str], flags: Flags) -> bytes:
    """The file, or the .dot text, of a GraphDef."""
    flags.check(flags.inference_type)
    flags.check_ranges(graph_def)
    if flags.input_type() == constants.QUANTIZED_UINT8 and not flags.quantized_input_stats:
        raise ValueError("std_dev and mean must be defined when inference_input_type is QUANTIZED_UINT8.")
    model = convert_graph(graph_def, inputs, outputs, flags.allowed_operators(), flags.drop_control_dependency)
    if flags.dump_graphviz_dir:
        graphviz.dump(model, flags.dump_graphviz_dir, flags.dump_graphviz_video)
    stats = dict(zip((i.name.removesuffix(":0") for i in inputs), flags.quantized_input_stats or ()))
    if flags.inference_type == constants.QUANTIZED_UINT8:
        quantize.to_uint8(model, stats, flags.default_ranges_stats)
    elif flags.input_type() == constants.QUANTIZED_UINT8:
        quantize.uint8_inputs(model, stats)
    if flags.quantize_to_float16:
        quantize.weights_to_float16(model)
    elif flags.post_training_quantize:
        quantize.weights_to_int8(model)
    if flags.output_format == constants.GRAPHVIZ_DOT:
        return graphviz.dot(model).encode()
    return writer.write(model)


def toco_convert_impl(input_data: object, input_tensors: Sequence[Tensor], output_tensors: Sequence[Tensor], enable_mlir_converter: bool = False,
                      **kwargs: Any) -> bytes:  # fmt: skip
    """The file of a GraphDef between tensors; `kwargs` are fields of Flags. enable_mlir_converter: accepted; there is one converter."""
    flags = Flags(**kwargs)
    inputs = []
    for i, tensor in enumerate(input_tensors):
        flags.check(tensor.dtype)
        shape = tensor.shape if flags.input_shapes is None else flags.input_shapes[i]
        inputs.append(Input(get_tensor_name(tensor), tuple(int(s) for s in shape), tensor.dtype))
    return _run(input_data, inputs, [get_tensor_name(t) for t in output_tensors], flags)


def toco_convert_graph_def(input_data: Any, input_arrays_with_shape: Sequence[tuple[str, Sequence[int]]], output_arrays: Sequence[str],
                           enable_mlir_converter: bool = False, **kwargs: Any) -> bytes:  # fmt: skip
    """The file of a GraphDef between names; `kwargs` are fields of Flags."""
    inputs = [Input(name, tuple(int(s) for s in shape)) for name, shape in input_arrays_with_shape]
    return _run(input_data, inputs, list(output_arrays), Flags(**kwargs))


@export("lite.toco_convert")
def toco_convert(input_data: Any, input_tensors: Sequence[Tensor], output_tensors: Sequence[Tensor], *args: object, **kwargs: Any) -> bytes:
    """Converts a frozen GraphDef; deprecated in 1.15 in favour of TFLiteConverter.

    Args:
      input_data: the GraphDef. input_tensors, output_tensors: tensors whose names, dtypes and shapes say where it is cut.
      args, kwargs: inference_type and the other fields of Flags, in their order.

    Raises:
      ConverterError: the graph cannot be converted. ValueError: an argument contradicts another.
    """
    kwargs.update(zip((f.name for f in dataclasses.fields(Flags)), args))
    return toco_convert_impl(input_data, input_tensors, output_tensors, **kwargs)
