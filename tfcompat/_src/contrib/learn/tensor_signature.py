"""What an Estimator of contrib.learn remembers of its inputs: dtype, shape and whether they are sparse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import as_shape
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.composed.sparse_placeholder import sparse_placeholder
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.parsing.features import FixedLenFeature, VarLenFeature
from tfcompat._src.ops.parsing.functions import parse_example

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.graph.tensor import Tensor

_STORED = {dtypes.int32: dtypes.int64, dtypes.float64: dtypes.float32}


class _Signature(NamedTuple):
    dtype: Any
    shape: Any
    is_sparse: bool


class TensorSignature(_Signature):
    """dtype, shape and sparsity of a tensor."""

    def __new__(cls, tensor: Any) -> TensorSignature:
        if isinstance(tensor, SparseTensor):
            return super().__new__(cls, tensor.values.dtype, None, True)
        return super().__new__(cls, tensor.dtype, tensor.get_shape(), False)

    def is_compatible_with(self, other: TensorSignature) -> bool:
        """Whether both can be the same input, with any batch size."""
        if self.is_sparse != other.is_sparse or not self.dtype.is_compatible_with(other.dtype):
            return False
        return self.is_sparse or _same_but_batch(as_shape(self.shape), as_shape(other.shape))

    def get_placeholder(self) -> SparseTensor | Tensor:
        """A placeholder for such tensors with any batch size."""
        if self.is_sparse:
            return sparse_placeholder(dtype=self.dtype)
        return placeholder(dtype=self.dtype, shape=[None, *self.shape[1:]])

    def get_feature_spec(self) -> Any:
        """How tf.parse_example reads such tensors."""
        dtype = _STORED.get(self.dtype, self.dtype)
        return VarLenFeature(dtype=dtype) if self.is_sparse else FixedLenFeature(shape=self.shape[1:], dtype=dtype)


def _same_but_batch(first: Any, second: Any) -> bool:
    if first.dims is None or second.dims is None:
        return True
    return first.ndims == second.ndims and all(
        x.is_compatible_with(y) for x, y in zip(first.dims[1:], second.dims[1:], strict=True)
    )


def tensors_compatible(tensors: Any, signatures: Any) -> bool:
    """Whether tensors (one, or a dict) fit signatures."""
    if tensors is None or signatures is None:
        return tensors is signatures
    if isinstance(tensors, dict) != isinstance(signatures, dict):
        return False
    if isinstance(tensors, dict):
        return all(
            key in tensors and TensorSignature(tensors[key]).is_compatible_with(signature)
            for key, signature in signatures.items()
        )
    return TensorSignature(tensors).is_compatible_with(signatures)


def create_signatures(tensors: object) -> Any:
    """The signature of a tensor, or of each of a dict; None of None."""
    if isinstance(tensors, dict):
        return {key: TensorSignature(tensor) for key, tensor in tensors.items()}
    return None if tensors is None else TensorSignature(tensors)


def create_placeholders_from_signatures(signatures: Any) -> Any:
    """Placeholders for such tensors."""
    if isinstance(signatures, dict):
        return {key: signature.get_placeholder() for key, signature in signatures.items()}
    return None if signatures is None else signatures.get_placeholder()


def create_example_parser_from_signatures(
    signatures: object, examples_batch: TensorLike, single_feature_name: str = "feature"
) -> Any:
    """The tensors with these signatures that serialized examples hold."""
    several = signatures if isinstance(signatures, dict) else {single_feature_name: signatures}
    features = parse_example(examples_batch, {key: signature.get_feature_spec() for key, signature in several.items()})
    for key, signature in several.items():
        if not signature.dtype.is_compatible_with(features[key].dtype):
            features[key] = cast(features[key], signature.dtype)
    return features if isinstance(signatures, dict) else features[single_feature_name]
