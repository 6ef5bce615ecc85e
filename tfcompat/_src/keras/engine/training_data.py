"""Arrays that a user gives to fit, evaluate and predict, checked and brought into the form that a model is fed with."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.keras import losses
from tfcompat._src.keras.backend.config import floatx
from tfcompat._src.keras.backend.values import placeholder
from tfcompat._src.keras.utils import generic_utils
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor, SparseTensorValue
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.ops.array.shape import expand_dims
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.ragged.value import RaggedTensorValue
from tfcompat._src.platform import logging
from tfcompat._src.variables.variable import Variable

_TENSORS = (Tensor, CompositeTensor, Variable)
_SAME_SHAPE = (losses.mean_squared_error, losses.binary_crossentropy, losses.categorical_crossentropy)
_SAME_SHAPE_CLASSES = (losses.MeanSquaredError, losses.BinaryCrossentropy, losses.CategoricalCrossentropy)


def is_composite(x: object) -> bool:
    """Whether `x` is a sparse or ragged tensor or the value of one."""
    return isinstance(x, (CompositeTensor, SparseTensorValue, RaggedTensorValue))


def has_tensors(values: object) -> bool:
    """Whether `values`, or an element of the list or dict, is a tensor."""
    if isinstance(values, (list, tuple, dict)):
        return any(isinstance(v, _TENSORS) for v in nest.flatten(values))
    return isinstance(values, _TENSORS)


has_symbolic_tensors = has_tensors


class ModelInputs:
    """Inputs of a model that was given none: one, a list, or a dict of arrays or tensors."""

    def __init__(self, inputs: Any) -> None:
        self._is_dict = isinstance(inputs, dict)
        self._is_single_input = not isinstance(inputs, (list, tuple, dict))
        if self._is_dict:
            self._names = sorted(inputs)
            self._values = [inputs[name] for name in self._names]
        else:
            self._values = nest.flatten(inputs)
            self._names = [f"input_{i + 1}" for i in range(len(self._values))]

    def get_input_names(self) -> list[str]:
        """The keys, or input_1, input_2."""
        return self._names

    def get_symbolic_inputs(self, return_single_as_list: bool = False) -> Any:
        """The inputs with placeholders in the place of arrays."""
        self._values = [_as_placeholder(name, value) for name, value in zip(self._names, self._values)]
        if self._is_dict:
            return dict(zip(self._names, self._values))
        return self._values[0] if self._is_single_input and not return_single_as_list else self._values

    def as_dict(self) -> Iterator[tuple[str, Any]]:
        """(name, input) of each."""
        return zip(self._names, self._values)

    def as_list(self) -> list[Any]:
        """The inputs."""
        return self._values


def _as_placeholder(name: str, value: object) -> Any:
    if isinstance(value, (list, float, int)):
        value = np.asarray(value)
        value = np.expand_dims(value, 1) if value.ndim == 1 else value
    if isinstance(value, TensorSpec):
        return placeholder(shape=(None, *(value.shape.as_list()[1:] or (1,))), name=name, dtype=value.dtype)
    if not isinstance(value, np.ndarray):
        return value
    dtype = dtypes.as_dtype(value.dtype)
    return placeholder(
        shape=(None, *(value.shape[1:] or (1,))), name=name, dtype=floatx() if dtype.is_floating else dtype
    )


# ---- arrays ----


def _without_frame(x: Any) -> Any:
    """The values of a pandas DataFrame; anything else as it is."""
    return x.values if type(x).__name__ == "DataFrame" else x


def standardize_single_array(x: Any, expected_shape: Any = None) -> Any:
    """An array of numbers as a column, unless numbers are expected; ValueError for an int."""
    if x is None or is_composite(x):
        return x
    if isinstance(x, int):
        raise ValueError(f"Expected an array data type but received an integer: {x}")
    if x.shape is not None and len(x.shape) == 1 and (expected_shape is None or len(expected_shape) != 1):
        return expand_dims(x, axis=1) if isinstance(x, Tensor) else np.expand_dims(x, 1)
    return x


def _as_list(data: object, names: list[str]) -> list[Any]:
    if isinstance(data, Mapping):
        missing = [name for name in names if name not in data]
        if missing:
            raise ValueError(f'No data provided for "{missing[0]}". Need data for each key in: {names}')
        return [_without_frame(data[name]) for name in names]
    if isinstance(data, (list, tuple)):
        if isinstance(data[0], (list, tuple)):
            return [np.asarray(d) for d in data]
        if len(names) == 1 and isinstance(data[0], (float, int)):
            return [np.asarray(data)]
        return [_without_frame(d) for d in data]
    return [_without_frame(data)]


def _check_count(data: list[Any], names: list[str], prefix: str) -> list[Any]:
    if len(data) == len(names):
        return data
    start = f"Error when checking model {prefix}: "
    if data and hasattr(data[0], "shape"):
        raise ValueError(
            f"{start}the list of Numpy arrays that you are passing to your model is not the size the model expected. "
            f"Expected to see {len(names)} array(s), but instead got the following list of {len(data)} arrays: "
            f"{str(data)[:200]}..."
        )
    if len(names) > 1:
        raise ValueError(
            f"{start}you are passing a list as input to your model, but the model expects a list of {len(names)} Numpy "
            f"arrays instead. The list you passed was: {str(data)[:200]}"
        )
    if len(data) == 1:
        raise TypeError(
            f"{start}data should be a Numpy array, or list/dict of Numpy arrays. Found: {str(data)[:200]}..."
        )
    return [np.asarray(data)]


def _sizes_of(x: Any) -> tuple | None:
    """The sizes of an array or tensor; None where they are unknown, () where they are not to be checked."""
    shape = x.shape if hasattr(x, "shape") else x.dense_shape
    if hasattr(shape, "as_list"):
        return tuple(shape.as_list()) if shape.ndims is not None else None
    return tuple(int(size) for size in shape)


def _check_shapes(data: list[Any], names: list[str], shapes: Iterable[Any], check_batch_axis: bool, prefix: str) -> None:
    for x, name, shape in zip(data, names, shapes):
        sizes = None if x is None or shape is None else _sizes_of(x)
        if sizes is None or (isinstance(x, Tensor) and not sizes):
            continue
        if len(sizes) != len(shape):
            raise ValueError(
                f"Error when checking {prefix}: expected {name} to have {len(shape)} dimensions, but got array with "
                f"shape {sizes}"
            )
        first = 0 if check_batch_axis else 1
        got, wanted = sizes[first:], tuple(shape)[first:]
        if any(a != b for a, b in zip(got, wanted) if a is not None and b is not None):
            raise ValueError(
                f"Error when checking {prefix}: expected {name} to have shape {wanted} but got array with shape {got}"
            )


def standardize_input_data(
    data: Any, names: list[str], shapes: Any = None, check_batch_axis: bool = True, exception_prefix: str = ""
) -> list[Any]:
    """What a user gave as one array for each name.

    Args:
      data: an array, a list or tuple of arrays or of lists of numbers, or a dict from names to arrays.
      names: of inputs or targets.
      shapes: what each has to fit, or None.
      check_batch_axis: whether the first dimension has to fit too.
      exception_prefix: what the data is called in messages.

    Raises:
      ValueError, TypeError: the number of arrays or a shape does not fit.
    """
    if not names:
        if hasattr(data, "__len__") and len(data) and not isinstance(data, dict):
            raise ValueError(f"Error when checking model {exception_prefix}: expected no data, but got:", data)
        return []
    if data is None:
        return [None] * len(names)
    arrays = _as_list(data, names)
    wanted = shapes if shapes is not None else [None] * len(arrays)
    arrays = [standardize_single_array(x, shape) for x, shape in zip(arrays, wanted)] + arrays[len(wanted) :]
    arrays = _check_count(arrays, names, exception_prefix)
    if shapes:
        _check_shapes(arrays, names, shapes, check_batch_axis, exception_prefix)
    return arrays


def check_array_lengths(inputs: Any, targets: Any, weights: Any = None) -> None:
    """Raises ValueError where arrays differ in the number of samples."""

    def lengths(values: Any) -> set[int]:
        return {x.shape[0] for x in values or () if x is not None and not has_tensors(x) and not is_composite(x)}

    x, y, w = lengths(inputs), lengths(targets), lengths(weights)
    for found, what, values in ((x, "input arrays (x)", inputs), (y, "target arrays (y)", targets)):
        if len(found) > 1:
            raise ValueError(
                f"All {what} should have the same number of samples. Got array shapes: {[v.shape for v in values]}"
            )
    if x and y and x != y:
        raise ValueError(
            "Input arrays should have the same number of samples as target arrays. "
            f"Found {min(x)} input samples and {min(y)} target samples."
        )
    if len(w) > 1:
        raise ValueError(
            "All sample_weight arrays should have the same number of samples. "
            f"Got array shapes: {[v.shape for v in weights]}"
        )
    if y and w and y != w:
        raise ValueError(
            "Sample_weight arrays should have the same number of samples as target arrays. Got "
            f"{min(y)} input samples and {min(w)} target samples."
        )


def check_loss_and_target_compatibility(targets: Any, loss_fns: Any, output_shapes: Any) -> None:
    """Raises ValueError where targets cannot be those of a loss: integer classes, or another shape."""
    for y, loss, shape in zip(targets, loss_fns, output_shapes):
        if y is None or loss is None or has_tensors(y):
            continue
        if losses.is_categorical_crossentropy(loss) and y.shape[-1] == 1:
            raise ValueError(
                f"You are passing a target array of shape {y.shape} while using as loss `categorical_crossentropy`. "
                "`categorical_crossentropy` expects targets to be binary matrices (1s and 0s) of shape (samples, "
                "classes). If your targets are integer classes, you can convert them to the expected format via:\n"
                "```\nfrom keras.utils import to_categorical\ny_binary = to_categorical(y_int)\n```\n\nAlternatively, "
                "you can use the loss function `sparse_categorical_crossentropy` instead, which does expect integer "
                "targets."
            )
        wraps = isinstance(loss, losses.LossFunctionWrapper)
        if not isinstance(loss, _SAME_SHAPE_CLASSES) and not (wraps and loss.fn in _SAME_SHAPE):
            continue
        if any(want is not None and got != want for got, want in zip(y.shape[1:], shape[1:])):
            name = loss.name or (loss.fn if wraps else type(loss)).__name__
            raise ValueError(
                f"A target array with shape {y.shape} was passed for an output of shape {shape} while using as loss "
                f"`{name}`. This loss expects targets to have the same shape as the output."
            )


def validate_input_types(inp: object, orig_inp: object, allow_dict: bool = True, field_name: str = "inputs") -> None:
    """Raises ValueError where inputs are neither arrays nor tensors, or a dict that is not allowed."""
    if isinstance(inp, dict):
        if not allow_dict:
            raise ValueError(f"You cannot pass a dictionary as model {field_name}.")
        return
    values = inp if isinstance(inp, (list, tuple)) else [inp]
    if not all(isinstance(v, np.ndarray) or has_tensors(v) for v in values):
        raise ValueError(
            "Please provide as model inputs either a single array or a list of arrays. "
            f"You passed: {field_name}={orig_inp}"
        )


def to_dense_or_sparse_tensor(value: Any, expected: object) -> Any:
    """A SciPy matrix as a tensor where a sparse one is expected, else as an array; anything else as it is."""
    if not hasattr(value, "tocoo"):
        return value
    if not isinstance(expected, SparseTensor):
        return value.toarray()
    coo = value.tocoo()
    return SparseTensor(np.stack([coo.row, coo.col], axis=1).astype(np.int64), coo.data, coo.shape)


def cast_single_tensor(x: Any, dtype: Any = None) -> Any:
    """A floating array or tensor as a tensor of `dtype`, floatx by default."""
    x = convert_to_tensor(x) if isinstance(x, np.ndarray) else x
    return cast(x, dtype or floatx()) if x.dtype.is_floating else x


def cast_if_floating_dtype(x: object) -> Any:
    """Floating tensors of a nest as floatx."""
    return nest.map_structure(cast_single_tensor, x)


def cast_if_floating_dtype_and_mismatch(targets: Any, outputs: list[Any]) -> Any:
    """Floating targets in the dtypes of outputs."""
    if has_tensors(targets) and not isinstance(targets, (list, tuple)):
        return cast_single_tensor(targets, dtype=outputs[0].dtype)
    tensors = [convert_to_tensor(t) if isinstance(t, np.ndarray) else t for t in targets]
    return [t if t.dtype == o.dtype else cast_single_tensor(t, dtype=o.dtype) for t, o in zip(tensors, outputs)]


def cast_to_model_input_dtypes(x: object, model: Any) -> Any:
    """Inputs of a model in the dtypes that its inputs have."""
    kinds = [t.dtype for t in nest.flatten(model.inputs)]
    flat = [convert_to_tensor(value) if isinstance(value, np.ndarray) else value for value in nest.flatten(x)]
    return nest.pack_sequence_as(x, [cast(value, dtype) for value, dtype in zip(flat, kinds)]) if kinds else x


# ---- weights of samples ----


def _per_output(weights: object, output_names: list[str], what: str) -> list[Any]:
    if weights is None or (isinstance(weights, (list, tuple)) and not weights):
        return [None] * len(output_names)
    if len(output_names) == 1:
        if isinstance(weights, (list, tuple)) and len(weights) == 1:
            return list(weights)
        named = isinstance(weights, dict) and output_names[0] in weights
        return [weights[output_names[0]] if named else weights]
    if isinstance(weights, (list, tuple)):
        if len(weights) != len(output_names):
            raise ValueError(
                f"Provided `{what}` was a list of {len(weights)} elements, but the model has {len(output_names)} "
                f"outputs. You should provide one `{what}`array per model output."
            )
        return list(weights)
    if isinstance(weights, Mapping):
        generic_utils.check_for_unexpected_keys(what, weights, output_names)
        return [weights.get(name) for name in output_names]
    raise TypeError(
        f"The model has multiple outputs, so `{what}` should be either a list or a dict. "
        f"Provided `{what}` type not understood: {weights}"
    )


def standardize_class_weights(class_weight: object, output_names: list[str]) -> list[Any]:
    """One dict of class weights, or None, for each output."""
    return _per_output(class_weight, output_names, "class_weight")


def standardize_sample_weights(sample_weight: object, output_names: list[str]) -> list[Any]:
    """One array of sample weights, or None, for each output."""
    return _per_output(sample_weight, output_names, "sample_weight")


def _check_sample_weight(y: Any, weight: Any, mode: str | None) -> None:
    if mode not in (None, "samplewise", "temporal"):
        raise ValueError(f'"sample_weight_mode should be None or "temporal". Found: {mode}')
    if mode == "temporal" and len(y.shape) < 3:
        raise ValueError(
            f"Found a sample_weight array for an input with shape {y.shape}. Timestep-wise sample weighting (use of "
            'sample_weight_mode="temporal") is restricted to outputs that are at least 3D, i.e. that have a time '
            "dimension."
        )
    if weight is None:
        return
    if len(weight.shape) != (2 if mode == "temporal" else 1):
        raise ValueError(
            f"Found a sample_weight array with shape {weight.shape}. In order to use timestep-wise sample weight"
            + (
                "ing, you should pass a 2D sample_weight array."
                if mode == "temporal"
                else 's, you should specify sample_weight_mode="temporal" in compile(). If you just mean to use '
                "sample-wise weights, make sure your sample_weight array is 1D."
            )
        )
    if len(weight.shape) > len(y.shape):
        raise ValueError(
            f"Found a sample_weight with shape{weight.shape}."
            f"Expected sample_weight with rank less than or equal to {len(y.shape)}"
        )
    if not has_tensors(weight) and tuple(y.shape[: weight.ndim]) != weight.shape:
        raise ValueError(
            f"Found a sample_weight array with shape {weight.shape} for an input with shape {y.shape}. "
            "sample_weight cannot be broadcast."
        )


def _weights_of_classes(y: Any, class_weight: dict) -> np.ndarray:
    if len(y.shape) > 2:
        raise ValueError("`class_weight` not supported for 3+ dimensional targets.")
    classes = y
    if len(y.shape) == 2:
        classes = np.argmax(y, axis=1) if y.shape[1] > 1 else np.reshape(y, y.shape[0])
    missing = {c for c in classes if c not in class_weight}
    if missing:
        raise ValueError(
            "`class_weight` must contain all classes in the data. "
            f"The classes {missing} exist in the data but not in `class_weight`."
        )
    return np.asarray([class_weight[c] for c in classes])


def standardize_weights(
    y: object, sample_weight: object = None, class_weight: object = None, sample_weight_mode: str | None = None
) -> Any:
    """The weights of samples, multiplied with those of their classes; None where there are neither.

    Raises:
      ValueError: the mode is unknown, a shape does not fit, or a class has no weight.
    """
    sample_weight = sample_weight[0] if isinstance(sample_weight, tuple) else sample_weight
    _check_sample_weight(y, sample_weight, sample_weight_mode)
    if not isinstance(class_weight, dict):
        return sample_weight
    of_classes = _weights_of_classes(y, class_weight)
    return of_classes if sample_weight is None else of_classes * sample_weight


# ---- batches ----


def check_steps_argument(input_data: object, steps: object, steps_name: str) -> bool:
    """Whether steps are counted, not samples; ValueError where they must be given, a warning where they should not."""
    if input_data is None or has_tensors(input_data) or (isinstance(input_data, list) and not input_data):
        if steps is None:
            raise ValueError(
                f"When using data tensors as input to a model, you should specify the `{steps_name}` argument."
            )
        return True
    values = input_data.values() if isinstance(input_data, dict) else [input_data]
    if steps is not None and any(isinstance(v, (np.ndarray, list, tuple)) for v in values):
        logging.warning(
            "When passing input data as arrays, do not specify `steps_per_epoch`/`steps` argument. Please use "
            "`batch_size` instead."
        )
    return False


def check_num_samples(ins: Any, batch_size: object = None, steps: object = None, steps_name: str = "steps") -> int | None:
    """The number of samples; None where steps are counted. ValueError where a batch size is given with steps."""
    if steps is not None and batch_size is not None:
        raise ValueError(f"If {steps_name} is set, the `batch_size` must be None.")
    if check_steps_argument(ins, steps, steps_name):
        return None
    return int(ins[0].shape[0]) if hasattr(ins[0], "shape") else None


def batch_shuffle(index_array: np.ndarray, batch_size: int) -> np.ndarray:
    """Indices with whole batches in random order; the last, shorter batch stays where it is."""
    whole = len(index_array) // batch_size * batch_size
    batches = index_array[:whole].reshape(-1, batch_size)
    np.random.shuffle(batches)
    return np.append(batches.flatten(), index_array[whole:])


def should_run_validation(validation_freq: object, epoch: int) -> bool:
    """Whether validation is due after `epoch`; ValueError for a frequency that is neither positive nor a collection."""
    if isinstance(validation_freq, int):
        if validation_freq < 1:
            raise ValueError("`validation_freq` can not be less than 1.")
        return (epoch + 1) % validation_freq == 0
    if not isinstance(validation_freq, Container):
        raise ValueError(
            "`validation_freq` must be an Integer or `collections_abc.Container` (e.g. list, tuple, etc.)"
        )
    return epoch + 1 in validation_freq


def split_training_and_validation_data(x: Any, y: object, sample_weights: object, validation_split: float) -> tuple:
    """(x, y, weights, x, y, weights): the first part for training, the last part for validation."""
    if has_tensors(x):
        raise ValueError("If your data is in the form of symbolic tensors, you cannot use `validation_split`.")
    count = x[0].shape[0] if hasattr(x[0], "shape") else len(x[0])
    at = int(count * (1.0 - validation_split))
    parts = [(generic_utils.slice_arrays(v, 0, at), generic_utils.slice_arrays(v, at)) for v in (x, y)]
    weights = (sample_weights, None)
    if sample_weights:
        weights = (generic_utils.slice_arrays(sample_weights, 0, at), generic_utils.slice_arrays(sample_weights, at))
    return parts[0][0], parts[1][0], weights[0], parts[0][1], parts[1][1], weights[1]


def unpack_validation_data(validation_data: Any) -> tuple[Any, Any, Any]:
    """(x, y, sample weights) of a pair or triple; ValueError for another length."""
    if len(validation_data) == 2:
        return (*validation_data, None)
    if len(validation_data) == 3:
        return tuple(validation_data)
    raise ValueError(
        "When passing a `validation_data` argument, it must contain either 2 items (x_val, y_val), or 3 items (x_val, "
        "y_val, val_sample_weights), or alternatively it could be a dataset or a dataset or a dataset iterator. However "
        f"we received `validation_data={validation_data}`"
    )


def get_input_shape_and_dtype(layer: Any) -> tuple[Any, Any]:
    """The batch shape and dtype that the first layer inside `layer` takes; (None, None) where they are unknown."""
    while layer._is_graph_network or type(layer).__name__ == "Sequential":
        if not layer.layers:
            raise ValueError("An empty Model cannot be used as a Layer.")
        layer = layer.layers[0]
    return (layer._batch_input_shape, layer.dtype) if hasattr(layer, "_batch_input_shape") else (None, None)


def get_static_batch_size(layer: object) -> int | None:
    """The batch size that a layer is made for."""
    shape, _ = get_input_shape_and_dtype(layer)
    return None if shape is None else shape[0]


def generic_output_names(outputs_list: list[Any]) -> list[str]:
    """output_1, output_2."""
    return [f"output_{i + 1}" for i in range(len(outputs_list))]
