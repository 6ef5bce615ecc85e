"""tf.lite.Interpreter: runs .tflite models with tfcompat's own kernels."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor as GraphTensor
from tfcompat._src.lite import model as lite
from tfcompat._src.lite import reader
from tfcompat._src.lite.graph_of import GraphOf
from tfcompat._src.platform import file_io
from tfcompat._src.runtime.session.session import Session

_HELD = """There is at least 1 reference to internal data
      in the interpreter in the form of a numpy array or slice. Be sure to
      only hold the function returned from tensor() if you are using raw
      data access."""
_NOT_ALLOCATED = "Invoke called on model that is not ready."


@export("lite.Interpreter")
class Interpreter:
    """Runs a TensorFlow Lite model.

    Args:
      model_path: a .tflite file. model_content: its bytes. One of both is to be given.
      experimental_delegates: not supported.

    Raises:
      ValueError: neither or both are given, or the model is damaged. NotImplementedError: delegates are given.
    """

    def __init__(self, model_path: str | None = None, model_content: bytes | None = None, experimental_delegates: object = None) -> None:
        if experimental_delegates:
            raise NotImplementedError("tfcompat's Interpreter has no delegates: leave experimental_delegates out.")
        if model_path and model_content:
            raise ValueError("Can't both provide `model_path` and `model_content`")
        if model_path:
            model_content = _file(model_path)
        elif not model_content:
            raise ValueError("`model_path` or `model_content` must be specified.")
        self._model = reader.read(bytes(model_content))
        self._main = self._model.subgraphs[0]
        self._shapes = {t: t.shape for t in self._main.tensors}
        self._values: dict[lite.Tensor, NDArray] = {}
        self._built: GraphOf | None = None
        self._session: Session | None = None
        self._views: list[weakref.ref[Any]] = []
        self._computed: set[lite.Tensor] = set()

    def allocate_tensors(self) -> None:
        """Prepares the model for its inputs' sizes.

        Raises:
          RuntimeError: the model has an operator that is not supported, or an array of `tensor` is held.
        """
        self._ensure_safe()
        self._built = GraphOf(self._model, self._shapes)
        self._session = Session(graph=self._built.graph)
        for tensor in self._built.inputs:
            if tensor.data is None and self._size_differs(tensor):
                self._values[tensor] = np.zeros(self._shapes[tensor], lite.NUMPY_TYPES[tensor.dtype])
        for tensor in self._main.tensors:
            made = self._built.tensors.get(tensor)
            if made is not None and made.shape.is_fully_defined():
                self._shapes[tensor] = tuple(made.shape.as_list())

    def _size_differs(self, tensor: lite.Tensor) -> bool:
        return tensor not in self._values or self._values[tensor].shape != tuple(self._shapes[tensor])

    def get_tensor_details(self) -> list[dict[str, Any]]:
        """Name, index, shape, dtype and quantization of every tensor that has a name."""
        return [self._details(i) for i, t in enumerate(self._main.tensors) if t.name]

    def get_input_details(self) -> list[dict[str, Any]]:
        """Name, index, shape (int32 array), dtype and quantization (scale, zero point) of every input."""
        return [self._details(self._main.tensors.index(t)) for t in self._main.inputs]

    def get_output_details(self) -> list[dict[str, Any]]:
        """As get_input_details, of every output."""
        return [self._details(self._main.tensors.index(t)) for t in self._main.outputs]

    def _details(self, index: int) -> dict[str, Any]:
        tensor = self._main.tensors[index]
        shape = np.array(self._shapes[tensor], np.int32)
        return {"name": tensor.name, "index": index, "shape": shape, "dtype": _numpy_type(tensor), "quantization": _quantization(tensor)}

    def _tensor(self, index: int) -> lite.Tensor:
        index = int(index)
        if not 0 <= index < len(self._main.tensors):
            raise ValueError(f"Invalid tensor index {index} exceeds max tensor index {len(self._main.tensors) - 1}")
        return self._main.tensors[index]

    def set_tensor(self, tensor_index: int, value: Any) -> None:
        """Copies an array into a tensor.

        Raises:
          ValueError: there is no such tensor, its dtype or shape is another, or allocate_tensors was not called.
        """
        tensor = self._tensor(tensor_index)
        value = np.asarray(value)
        if tensor.dtype == "STRING":
            value = value.astype(object)
        expected = lite.NUMPY_TYPES[tensor.dtype]
        if value.dtype != expected:
            raise ValueError(f"Cannot set tensor: Got tensor of type {_type_number(value)} but expected type "
                             f"{_type_number(np.zeros((), expected))} for input {tensor_index}, name: {tensor.name} ")  # fmt: skip
        shape = tuple(self._shapes[tensor])
        if value.ndim != len(shape):
            raise ValueError(f"Cannot set tensor: Dimension mismatch. Got {value.ndim} but expected {len(shape)} for input {tensor_index}.")
        for axis, (got, wanted) in enumerate(zip(value.shape, shape)):
            if got != wanted:
                raise ValueError(f"Cannot set tensor: Dimension mismatch. Got {got} but expected {wanted} for dimension {axis} of input {tensor_index}.")
        if self._built is None:
            raise ValueError("Cannot set tensor: Tensor is unallocated. Try calling allocate_tensors() first")
        self._values[tensor] = np.array(value)

    def resize_tensor_input(self, input_index: int, tensor_size: object) -> None:
        """Changes the sizes of an input; allocate_tensors is to be called before the next run.

        Raises:
          ValueError: there is no such tensor. RuntimeError: an array of `tensor` is held.
        """
        self._ensure_safe()
        self._shapes[self._tensor(input_index)] = tuple(int(s) for s in np.asarray(tensor_size, np.int32).ravel())
        self._built = self._session = None

    def get_tensor(self, tensor_index: int) -> NDArray:
        """A copy of a tensor's value; of one between inputs and outputs, the value that the last inputs give it.

        Raises:
          ValueError: there is no such tensor, or it has no value yet.
        """
        return np.array(self._value(self._tensor(tensor_index)))

    def tensor(self, tensor_index: int) -> Callable[[], NDArray]:
        """A function that gives the array of a tensor itself, to read and write; no run is possible while one is held."""
        found = self._tensor(tensor_index)

        def view() -> NDArray:
            array = self._value(found).view(_View)
            self._views.append(weakref.ref(array))
            return array

        return view

    def _value(self, tensor: lite.Tensor) -> NDArray:
        if tensor.data is not None:
            return tensor.data
        if tensor in self._main.outputs and tensor not in self._values and self._built is not None:
            self._values[tensor] = np.zeros(self._shapes[tensor], lite.NUMPY_TYPES[tensor.dtype])
        if tensor not in self._values:
            if self._built is None or self._session is None or tensor not in self._built.tensors:
                raise ValueError("Tensor data is null. Run allocate_tensors() first")
            return np.asarray(self._session.run(self._built.tensors[tensor], self._feeds()))
        return self._values[tensor]

    def _feeds(self) -> dict[GraphTensor, NDArray]:
        if self._built is None:
            raise RuntimeError(_NOT_ALLOCATED)
        return {placeholder: self._values[t] for t, placeholder in self._built.inputs.items()}

    def invoke(self) -> None:
        """Runs the model on its inputs.

        Raises:
          RuntimeError: allocate_tensors was not called, or an array of `tensor` is held.
        """
        self._ensure_safe()
        if self._built is None or self._session is None:
            raise RuntimeError(_NOT_ALLOCATED)
        outputs = {t: self._built.tensors[t] for t in self._main.outputs if t in self._built.tensors}
        found = self._session.run([list(outputs.values()), list(self._built.variables.values())], self._feeds())
        for tensor, value in zip([*outputs, *self._built.variables], [*found[0], *found[1]]):
            self._values[tensor] = np.array(value)
            self._shapes[tensor] = self._values[tensor].shape

    def float_tensors(self) -> list[lite.Tensor]:
        """The float tensors that a run gives values to, inputs included; for calibration."""
        if self._built is None:
            raise RuntimeError(_NOT_ALLOCATED)
        return [t for t in self._main.tensors if t.dtype == "FLOAT32" and t.data is None and t in self._built.tensors]

    def values_of(self, tensors: list[lite.Tensor]) -> list[NDArray]:
        """Values of any tensors for the present inputs, in one run; for calibration."""
        if self._built is None or self._session is None:
            raise RuntimeError(_NOT_ALLOCATED)
        return list(self._session.run([self._built.tensors[t] for t in tensors], self._feeds()))

    def reset_all_variables(self) -> None:
        """Sets every variable to zero."""
        for tensor in self._main.tensors:
            if tensor.is_variable:
                self._values[tensor] = np.zeros(self._shapes[tensor], lite.NUMPY_TYPES[tensor.dtype])

    def _ensure_safe(self) -> None:
        self._views = [view for view in self._views if view() is not None]
        if self._views:
            raise RuntimeError(_HELD)


@export("lite.experimental.load_delegate", "compat.v2.lite.experimental.load_delegate")
def load_delegate(library: str, options: dict[str, Any] | None = None) -> NoReturn:
    """Loads a delegate of TensorFlow Lite's own runtime, which tfcompat does not have.

    Args:
      library: the path of a shared library. options: of the delegate.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError(f"tfcompat's Interpreter has no delegates, and does not load {library}: run the model in LiteRT (ai-edge-litert).")


class _View(np.ndarray):
    """An array of a tensor itself; slices keep it alive as their base."""


def _file(path: str) -> bytes:
    if not file_io.exists(path):
        raise ValueError(f"Could not open '{path}'.")
    with file_io.FileIO(path, "rb") as file:
        content: bytes = file.read()
    return content


def _numpy_type(tensor: lite.Tensor) -> Any:
    return np.bytes_ if tensor.dtype == "STRING" else lite.NUMPY_TYPES[tensor.dtype].type


def _quantization(tensor: lite.Tensor) -> tuple[float, int]:
    parameters = tensor.quantization
    if parameters is None or len(parameters.scale) != 1:
        return 0.0, 0
    return float(parameters.scale[0]), int(parameters.zero_point[0]) if len(parameters.zero_point) else 0


def _type_number(value: NDArray) -> int:
    """TfLiteType of lite/c/c_api_internal.h; 0 for what it does not have."""
    numbers = {"f4": 1, "i4": 2, "u1": 3, "i8": 4, "O": 5, "b1": 6, "i2": 7, "c8": 8, "i1": 9, "f2": 10}
    return numbers.get(value.dtype.str.lstrip("<|>"), 0)
