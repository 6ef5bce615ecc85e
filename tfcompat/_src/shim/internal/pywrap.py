"""`tensorflow.python.pywrap_tensorflow`: functions of TensorFlow's C++ extension module that programs call."""

from __future__ import annotations

import operator
import socket
from typing import Any

from tfcompat._src.base import dtypes
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.platform import file_io


def TF_bfloat16_type() -> type:
    """Returns the NumPy type of bfloat16."""
    return dtypes.bfloat16.as_numpy_dtype  # type: ignore[no-any-return]  # a class of ml_dtypes


def TF_PickUnusedPortOrDie() -> int:
    """Returns a TCP port of this machine that is free now. Another process may take it before the caller does."""
    # The system chooses the port for 0.
    with socket.socket() as probe:
        probe.bind(("", 0))
        port: int = probe.getsockname()[1]
    return port


def DeleteFile(filename: object, status: object = None) -> None:
    """Deletes a file; `status` is unused, as errors are raised."""
    file_io.remove(filename)


def TFE_Py_TensorShapeSlice(tensors: object, slice_dim: int) -> Any:
    """Returns the sizes of one dimension of several tensors.

    Args:
      tensors: a list or tuple of EagerTensors.
      slice_dim: the dimension, not negative.

    Returns:
      an int32 EagerTensor with shape [len(tensors)].

    Raises:
      TypeError: `tensors` is not such a list. ValueError: the dimension is negative. IndexError: a tensor has too few dimensions.
    """
    if not isinstance(tensors, (list, tuple)):
        raise TypeError(f'tensors argument must be a list or a tuple. Got "{type(tensors).__name__}"')
    dimension = operator.index(slice_dim)
    if dimension < 0:
        raise ValueError(f"Slice dimension must be non-negative. Got {dimension}")
    for i, tensor in enumerate(tensors):
        if not isinstance(tensor, EagerTensor):
            raise TypeError(f'Expected a list of EagerTensors but element {i} has type "{type(tensor).__name__}"')
        if dimension >= len(tensor.shape):
            raise IndexError(
                f"Slice dimension ({dimension}) must be smaller than rank of all tensors, "
                f"but tensor at index {i} has rank {tensor.shape.rank}"
            )
    return EagerTensor([tensor.shape.dims[dimension].value for tensor in tensors], None, dtypes.int32)
