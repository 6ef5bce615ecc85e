"""tf.lite.TFLiteConverter: from a session, a frozen graph, a SavedModel or a Keras file to a .tflite model."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from tfcompat._src.base import errors
from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.eager import mode
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras.backend.session import clear_session, get_session, set_learning_phase
from tfcompat._src.keras.layers import serialization  # noqa: F401  (the classes of layers in Keras files)
from tfcompat._src.keras.saving.save import load_model
from tfcompat._src.lite import constants, quantize
from tfcompat._src.lite.freeze import (
    freeze_graph,
    freeze_saved_model,
    get_tensor_name,
    get_tensors_from_tensor_names,
    is_frozen_graph,
    set_tensor_shapes,
)  # fmt: skip
from tfcompat._src.lite.toco import OpsSet, toco_convert_graph_def, toco_convert_impl
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.platform import file_io
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.saved_model import signature_constants, tag_constants


@export("lite.Optimize")
class Optimize(enum.Enum):
    """Optimizations of a conversion; all of them quantize weights, and activations where there is a representative dataset."""

    DEFAULT = "DEFAULT"
    OPTIMIZE_FOR_SIZE = "OPTIMIZE_FOR_SIZE"
    OPTIMIZE_FOR_LATENCY = "OPTIMIZE_FOR_LATENCY"

    def __str__(self) -> str:
        return self.value


@export("lite.RepresentativeDataset")
class RepresentativeDataset:
    """Samples of a model's inputs, from which the ranges of its tensors are taken.

    Args:
      input_gen: a function that gives an iterable of lists, one array for each input.
    """

    def __init__(self, input_gen: Callable[[], Iterable[Sequence[Any]]]) -> None:
        self.input_gen = input_gen


@export("lite.TargetSpec")
class TargetSpec:
    """What the device has that runs a model.

    Args:
      supported_ops: a set of OpsSet members, TFLITE_BUILTINS by default. supported_types: dtypes of constants, smallest wins.
    """

    def __init__(self, supported_ops: Iterable[OpsSet] | None = None, supported_types: list[Any] | None = None) -> None:
        self.supported_ops = {OpsSet.TFLITE_BUILTINS} if supported_ops is None else supported_ops
        self.supported_types = [] if supported_types is None else supported_types


_RENAMED = {
    "post_training_quantize": "Property post_training_quantize is deprecated, please use optimizations=[Optimize.DEFAULT] instead.",
    "target_ops": "Property target_ops is deprecated, please use target_spec.supported_ops instead.",
}


@export("lite.TFLiteConverter")
class TFLiteConverter:
    """Converts a frozen graph; made by one of the `from_` methods, set up by attributes, run by `convert`.

    Attributes:
      inference_type: float32, or uint8 for a model quantized by the FakeQuant ops of the graph.
      inference_input_type, inference_output_type: types of real inputs and outputs; None for inference_type.
      output_format: constants.TFLITE or GRAPHVIZ_DOT.
      quantized_input_stats: {input: (mean, standard deviation)} for uint8 inputs. default_ranges_stats: (min, max) where a tensor has none.
      drop_control_dependency: pass over control inputs. reorder_across_fake_quant, change_concat_input_ranges: change no range;
        NotImplementedError for graphs with FakeQuant nodes.
      allow_custom_ops: make custom operators of ops that TensorFlow Lite does not have.
      dump_graphviz_dir, dump_graphviz_video: where to write the graph as .dot, and whether also in steps.
      target_spec: a TargetSpec. optimizations: a list of Optimize members. representative_dataset: a RepresentativeDataset, or its function.
      experimental_enable_mlir_converter: accepted: there is one converter.

    Raises:
      ValueError: neither tensors nor names of inputs and outputs are given.
    """

    def __init__(
        self, graph_def: messages.GraphDef, input_tensors: Sequence[Tensor] | None, output_tensors: Sequence[Tensor] | None,
        input_arrays_with_shape: Sequence[tuple[str, Sequence[int]]] | None = None, output_arrays: Sequence[str] | None = None,
        experimental_debug_info_func: object = None,
    ) -> None:  # fmt: skip
        self._graph_def = graph_def
        self._input_tensors = input_tensors
        self._output_tensors = output_tensors
        self._debug_info_func = experimental_debug_info_func
        self._debug_info = None
        self.allow_custom_ops = False
        self.target_spec = TargetSpec()
        self.optimizations: list[Optimize] = []
        self.representative_dataset: Any = None
        self.experimental_enable_mlir_converter = False
        self.inference_type = constants.FLOAT
        self.inference_input_type: Any = None
        self.inference_output_type: Any = None
        self.output_format = constants.TFLITE
        self.quantized_input_stats: dict[str, tuple[float, float]] | None = {}
        self.default_ranges_stats: tuple[float, float] | None = None
        self.drop_control_dependency = True
        self.reorder_across_fake_quant = False
        self.change_concat_input_ranges = False
        self.dump_graphviz_dir: str | None = None
        self.dump_graphviz_video = False
        if not self._has_valid_tensors():
            if not input_arrays_with_shape or not output_arrays:
                raise ValueError("If input_tensors and output_tensors are None, both input_arrays_with_shape and output_arrays must be defined.")
            self._input_arrays_with_shape = input_arrays_with_shape
            self._output_arrays = output_arrays

    @classmethod
    def from_session(cls, sess: SessionLike, input_tensors: Sequence[Tensor], output_tensors: Sequence[Tensor]) -> TFLiteConverter:
        """A converter of a session's graph, with the present values of its variables."""
        return cls(freeze_graph(sess, input_tensors, output_tensors), input_tensors, output_tensors)

    @classmethod
    def from_frozen_graph(cls, graph_def_file: str, input_arrays: Sequence[str], output_arrays: Sequence[str],
                          input_shapes: dict[str, Any] | None = None) -> TFLiteConverter:  # fmt: skip
        """A converter of a frozen GraphDef.

        Args:
          graph_def_file: a file, binary or text. input_arrays, output_arrays: names of tensors. input_shapes: {name: sizes or None}.

        Raises:
          IOError: there is no such file, or it is no GraphDef. ValueError: it has variables, or a name or a shape does not fit.
        """
        graph_def = _read_graph_def(graph_def_file)
        with Graph().as_default() as graph, Session(graph=graph) as sess:
            try:
                import_graph_def(graph_def, name="")
            except errors.NotFoundError:
                return cls._of_names(graph_def, input_arrays, output_arrays, input_shapes)
            if not is_frozen_graph(sess):
                raise ValueError("Please freeze the graph using freeze_graph.py.")
            input_tensors = get_tensors_from_tensor_names(graph, input_arrays)
            output_tensors = get_tensors_from_tensor_names(graph, output_arrays)
            set_tensor_shapes(input_tensors, input_shapes)
            return cls(graph.as_graph_def(), input_tensors, output_tensors)

    @classmethod
    def _of_names(cls, graph_def: messages.GraphDef, input_arrays: Sequence[str], output_arrays: Sequence[str], input_shapes: Any) -> TFLiteConverter:
        """A converter of a graph with ops that TensorFlow does not know."""
        if not input_shapes:
            raise ValueError("input_shapes must be defined for this model.")
        if set(input_arrays) != set(input_shapes):
            raise ValueError("input_shapes must contain a value for each item in input_array.")
        shapes = [(name, input_shapes[name]) for name in input_arrays]
        return cls(graph_def, None, None, input_arrays_with_shape=shapes, output_arrays=output_arrays)

    @classmethod
    def from_saved_model(
        cls, saved_model_dir: str, input_arrays: Iterable[str] | None = None, input_shapes: dict[str, Any] | None = None,
        output_arrays: Iterable[str] | None = None, tag_set: Iterable[str] | None = None, signature_key: str | None = None,
    ) -> TFLiteConverter:  # fmt: skip
        """A converter of a SavedModel: of the signature "serving_default" of the graph with the tag "serve", if nothing else is said."""
        tags = {tag_constants.SERVING} if tag_set is None else tag_set
        key = signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY if signature_key is None else signature_key
        return cls(*freeze_saved_model(saved_model_dir, input_arrays, input_shapes, output_arrays, tags, key)[:3])

    @classmethod
    def from_keras_model_file(
        cls, model_file: str, input_arrays: Sequence[str] | None = None, input_shapes: dict[str, Any] | None = None,
        output_arrays: Sequence[str] | None = None, custom_objects: dict[str, Any] | None = None,
    ) -> TFLiteConverter:  # fmt: skip
        """A converter of a Keras model in an HDF5 file; clears the Keras session, as 1.15 does, unless execution is eager.

        Raises:
          ValueError: a name or a shape does not fit, or names are given while execution is eager.
        """
        if executing_eagerly():
            if input_arrays or output_arrays:
                raise ValueError("`input_arrays` and `output_arrays` are unsupported with Eager mode. If your model requires any of these "
                                 "parameters, please use disable_eager_execution().")  # fmt: skip
            with mode.graph_mode(), Graph().as_default() as graph, Session(graph=graph).as_default():
                return cls._of_keras_file(model_file, None, input_shapes, None, custom_objects)
        clear_session()
        return cls._of_keras_file(model_file, input_arrays, input_shapes, output_arrays, custom_objects)

    @classmethod
    def _of_keras_file(cls, model_file: str, input_arrays: Any, input_shapes: Any, output_arrays: Any, custom_objects: object) -> TFLiteConverter:
        set_learning_phase(0)
        model = load_model(model_file, custom_objects)
        sess = get_session()
        inputs = get_tensors_from_tensor_names(sess.graph, input_arrays) if input_arrays else model.inputs
        outputs = get_tensors_from_tensor_names(sess.graph, output_arrays) if output_arrays else model.outputs
        set_tensor_shapes(inputs, input_shapes)
        return cls(freeze_graph(sess, inputs, outputs), inputs, outputs)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in _RENAMED:
            object.__setattr__(self, name, value)
            return
        warnings.warn(_RENAMED[name], stacklevel=2)
        if name == "target_ops":
            self.target_spec.supported_ops = value
        else:
            self.optimizations = [Optimize.DEFAULT] if value else []

    def __getattr__(self, name: str) -> Any:
        if name not in _RENAMED:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        warnings.warn(_RENAMED[name], stacklevel=2)
        return self.target_spec.supported_ops if name == "target_ops" else Optimize.DEFAULT in set(self.optimizations)

    def convert(self) -> bytes:
        """The .tflite file, or the .dot text.

        Raises:
          ValueError: an input has no shape, a size other than the first is None, or attributes contradict each other.
          ConverterError: the graph cannot be converted.
        """
        self._check_shapes()
        stats = self._stats()
        self._validate_quantization()
        self._validate_representative_dataset()
        input_type, output_type = self.inference_input_type, self.inference_output_type
        if self._is_post_training_optimize():
            if self.inference_type != constants.FLOAT:
                raise ValueError("`optimizations` require that `inference_type` is set to float.")
            input_type, output_type = input_type or constants.FLOAT, output_type or constants.FLOAT
        elif output_type is not None:
            raise ValueError("inference_output_type is currently not supported if optimizations are not enabled.")
        if self._is_int8_weight_only_quantize() and (input_type != constants.FLOAT or output_type != constants.FLOAT):
            raise ValueError("Provide an inference_input_type and inference_output_type of type tf.float32.")
        flags = self._flags(stats)
        if self._has_valid_tensors():
            result = toco_convert_impl(self._graph_def, self._input_tensors or (), self._output_tensors or (), **flags)
        else:
            result = toco_convert_graph_def(self._graph_def, self._input_arrays_with_shape, self._output_arrays, **flags)
        if self._is_calibration_quantize():
            allow_float = not self._is_int8_target_required()
            result = quantize.calibrated(result, self.representative_dataset.input_gen, input_type, output_type, allow_float)
        return result

    def _check_shapes(self) -> None:
        for tensor in self._input_tensors or ():
            name, shape = get_tensor_name(tensor), tensor.shape
            if shape.ndims is None:
                raise ValueError(f"Provide an input shape for input array '{name}'.")
            sizes = shape.as_list()
            if None in sizes[1:]:
                raise ValueError(f"None is only supported in the 1st dimension. Tensor '{name}' has invalid shape '{sizes}'.")
            if sizes and sizes[0] is None:
                self._set_batch_size(batch_size=1)

    def _stats(self) -> list[tuple[float, float]] | None:
        if not self.quantized_input_stats:
            return None
        names = self.get_input_arrays()
        missing = [name for name in names if name not in self.quantized_input_stats]
        if missing:
            raise ValueError(f"Quantization input stats are not available for input tensors '{','.join(missing)}'.")
        return [self.quantized_input_stats[name] for name in names]

    def _flags(self, stats: list[tuple[float, float]] | None) -> dict[str, Any]:
        float16 = self._is_float16_quantize()
        return {
            "inference_type": self.inference_type,
            "inference_input_type": constants.FLOAT if self._is_post_training_optimize() else self.inference_input_type,
            "output_format": self.output_format, "quantized_input_stats": stats, "default_ranges_stats": self.default_ranges_stats,
            "drop_control_dependency": self.drop_control_dependency, "reorder_across_fake_quant": self.reorder_across_fake_quant,
            "change_concat_input_ranges": self.change_concat_input_ranges, "allow_custom_ops": self.allow_custom_ops,
            "dump_graphviz_dir": self.dump_graphviz_dir, "dump_graphviz_video": self.dump_graphviz_video,
            "post_training_quantize": self._is_int8_weight_only_quantize() or float16, "quantize_to_float16": float16,
            "target_ops": self.target_spec.supported_ops,
        }  # fmt: skip

    def get_input_arrays(self) -> list[str]:
        """The names of the inputs."""
        if self._has_valid_tensors():
            return [get_tensor_name(t) for t in self._input_tensors or ()]
        return [name for name, _ in self._input_arrays_with_shape]

    def _has_valid_tensors(self) -> bool:
        return bool(self._input_tensors and self._output_tensors)

    def _set_batch_size(self, batch_size: int) -> None:
        if not self._has_valid_tensors():
            raise ValueError("The batch size cannot be set for this model. Please use input_shapes parameter.")
        for tensor in self._input_tensors or ():
            sizes = tensor.shape.as_list()
            if sizes and sizes[0] is None:
                tensor.set_shape([batch_size, *sizes[1:]])

    def _validate_representative_dataset(self) -> None:
        if self.representative_dataset:
            if not isinstance(self.representative_dataset, RepresentativeDataset):
                self.representative_dataset = RepresentativeDataset(self.representative_dataset)
            if self.representative_dataset.input_gen is None:
                raise ValueError("Provide an input generator for representative_dataset")
        elif self._is_int8_target_required():
            raise ValueError("representative_dataset is required when specifying TFLITE_BUILTINS_INT8 or INT8 supported types.")

    def _validate_quantization(self) -> None:
        if self._is_int8_target_required() and self.target_spec.supported_types and self._smallest_supported_type() != constants.INT8:
            raise ValueError("TFLITE_BUILTINS_INT8 requires smallest supported type to be INT8.")

    def _is_int8_target_required(self) -> bool:
        only_int8 = set(self.target_spec.supported_ops) == {OpsSet.TFLITE_BUILTINS_INT8}
        return only_int8 or self._smallest_supported_type() == constants.INT8

    def _smallest_supported_type(self) -> Any:
        return min(self.target_spec.supported_types, key=lambda dtype: dtype.size, default=None)

    def _any_optimization_enabled(self) -> bool:
        return bool(set(self.optimizations).intersection(Optimize))

    def _is_post_training_optimize(self) -> bool:
        return self._is_int8_target_required() or self._any_optimization_enabled()

    def _is_int8_weight_only_quantize(self) -> bool:
        return self._is_post_training_optimize() and self.representative_dataset is None

    def _is_float16_quantize(self) -> bool:
        return self._any_optimization_enabled() and self._smallest_supported_type() == constants.FLOAT16

    def _is_calibration_quantize(self) -> bool:
        not_float16 = self._smallest_supported_type() != constants.FLOAT16
        return bool(self._is_post_training_optimize() and self.representative_dataset and not_float16)


def _read_graph_def(path: str) -> Any:
    if not file_io.exists(path):
        raise OSError(f"File '{path}' does not exist.")
    content = _bytes_of(path)
    graph_def = messages.GraphDef()
    try:
        graph_def.ParseFromString(content)
        return graph_def
    except DecodeError:
        pass  # it may be text
    try:
        return text_format.Merge(content.decode(), messages.GraphDef())
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise OSError(f"Unable to parse input file '{path}'.") from error


def _bytes_of(path: str) -> bytes:
    with file_io.FileIO(path, "rb") as file:
        content: bytes = file.read()
    return content


@export("lite.TocoConverter")
class TocoConverter:
    """TFLiteConverter under the name that it had before; deprecated in 1.15."""

    from_session = TFLiteConverter.from_session
    from_frozen_graph = TFLiteConverter.from_frozen_graph
    from_saved_model = TFLiteConverter.from_saved_model
    from_keras_model_file = TFLiteConverter.from_keras_model_file
