"""`tensorflow.python.data.util.sparse`: conversion of nests with SparseTensors to nests of dense tensors and variants, and back."""

from __future__ import annotations

from tfcompat._src.base import dtypes
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.data import nest
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.sparse.serialize import deserialize_sparse, serialize_many_sparse, serialize_sparse


def any_sparse(classes: object) -> bool:
    """Whether a nest of classes contains SparseTensor."""
    return any(each is SparseTensor for each in nest.flatten(classes))


def _where_sparse(values: object, classes: object, other: object) -> object:
    return nest.pack_sequence_as(values, [other if c is SparseTensor else v for v, c in zip(nest.flatten(values), nest.flatten(classes))])


def as_dense_shapes(shapes: object, classes: object) -> object:
    """Returns a nest of shapes with an unknown shape for each sparse tensor."""
    return _where_sparse(shapes, classes, TensorShape(None))


def as_dense_types(types: object, classes: object) -> object:
    """Returns a nest of dtypes with tf.variant for each sparse tensor."""
    return _where_sparse(types, classes, dtypes.variant)


def get_classes(tensors: object) -> object:
    """Returns the nest of the classes of tensors, each SparseTensor or Tensor."""
    return nest.pack_sequence_as(tensors, [SparseTensor if isinstance(each, SparseTensor) else Tensor for each in nest.flatten(tensors)])


def serialize_sparse_tensors(tensors: object) -> object:
    """Serializes each sparse tensor of a nest to a vector of three variants."""
    leaves = [serialize_sparse(each, out_type=dtypes.variant) if isinstance(each, SparseTensor) else each for each in nest.flatten(tensors)]
    return nest.pack_sequence_as(tensors, leaves)


def serialize_many_sparse_tensors(tensors: object) -> object:
    """Serializes each sparse tensor of a nest to a matrix of variants, with three for each of its rows."""
    leaves = [serialize_many_sparse(each, out_type=dtypes.variant) if isinstance(each, SparseTensor) else each for each in nest.flatten(tensors)]
    return nest.pack_sequence_as(tensors, leaves)


def deserialize_sparse_tensors(tensors: object, types: object, shapes: object, classes: object) -> object:
    """Inverts `serialize_sparse_tensors`, given the nests of the dtypes, shapes and classes of the original leaves."""
    facts = zip(*map(nest.flatten, (tensors, types, shapes, classes)))
    leaves = [deserialize_sparse(t, dtype=kind, rank=shape.ndims) if c is SparseTensor else t for t, kind, shape, c in facts]
    return nest.pack_sequence_as(types, leaves)
