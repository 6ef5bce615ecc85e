"""tf.data.experimental.parse_example_dataset, and the op type ParseExampleDataset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.export import export
from tfcompat._src.base.host_context import HostContext
from tfcompat._src.base.tensor_shape import TensorShape
from tfcompat._src.data.dataset import DatasetV2, number
from tfcompat._src.data.iterator import flat_attrs
from tfcompat._src.data.values import OUTPUTS, DatasetValue, Element, Next, Recorder, Scope, dataset_of, dataset_op
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.sparse_tensor import SparseTensorSpec
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.ops.parsing.example import Batch, check_defaults, dense_features, parse
from tfcompat._src.ops.parsing.features import (
    FeatureLists,
    FixedLenFeature,
    FixedLenSequenceFeature,
    SparseFeature,
    VarLenFeature,
    with_batch_rows,
    with_sparse_features,
)
from tfcompat._src.ops.sparse.serialize import parts_vector
from tfcompat._src.proto import messages


def _parse_examples(context: HostContext, input_dataset: NDArray, num_parallel_calls: NDArray, dense_defaults: tuple[Any, ...]) -> DatasetValue:
    """Parses batches of serialized Examples; elements have a component for each feature, in the order of the sorted keys."""
    source, attrs = dataset_of(input_dataset), context.op.attrs
    dense_keys, sparse_keys = attrs["dense_keys"], attrs["sparse_keys"]
    dense = dense_features(dense_keys, [t.as_numpy_dtype for t in attrs["Tdense"]], attrs["dense_shapes"], dense_defaults)
    check_defaults(dense)
    sparse = [(key, np.dtype(kind.as_numpy_dtype)) for key, kind in zip(sparse_keys, attrs["sparse_types"])]
    order = sorted([*sparse_keys, *dense_keys])

    def start(scope: Scope) -> Next:
        following, record = source.start(scope), scope.record

        def parsed() -> Element:
            texts = following()[0].tolist()
            if record is not None:
                _record_features(record, made.node_name, texts, order)
            indices, values, shapes, rows = parse(Batch(texts, []), sparse, dense)
            # A sparse feature is a vector of three variants.
            components: dict[bytes, Any] = dict(zip(dense_keys, rows))
            for key, parts in zip(sparse_keys, zip(indices, values, shapes)):
                components[key] = parts_vector(parts)
            return tuple([np.asarray(components[key]) for key in order])

        return parsed

    made = DatasetValue(start, source.size)
    return made


def _record_features(record: Recorder, name: str, texts: list[bytes], parsed: list[bytes]) -> None:
    """Records, for each Example, the number of its features, and the number of values in those that are parsed."""
    for text in texts:
        features = messages.Example.FromString(text).features.feature
        lists = [getattr(features[key], kind).value for key in features if key.encode() in parsed and (kind := features[key].WhichOneof("kind"))]
        record.add(f"{name}::features_count", len(features))
        record.add(f"{name}::feature_values_count", sum(map(len, lists)))
    record.put(f"{name}::thread_utilization", 0.0)


for _prefix in ("", "Experimental"):
    dataset_op(
        _prefix + "ParseExampleDataset", "input_dataset: variant, num_parallel_calls: int64, dense_defaults: Tdense",
        "sparse_keys: list(string) >= 0, dense_keys: list(string) >= 0, sparse_types: list({float32, int64, string}) >= 0, "
        "Tdense: list({float32, int64, string}) >= 0, dense_shapes: list(shape) >= 0, " + OUTPUTS + ", sloppy: bool = False",
    )(_parse_examples)  # fmt: skip


@export("data.experimental.parse_example_dataset", "contrib.data.parse_example_dataset")
def parse_example_dataset(features: dict[Any, Any], num_parallel_calls: object = 1) -> Callable[[Any], Any]:
    """For `apply`: parses vectors of serialized tf.Example messages into dicts of tensors.

    Args:
      features: dict of features, as for `tf.io.parse_example`. num_parallel_calls: int64 scalar, concurrent calls.

    Raises:
      ValueError: there are no features, or one is not valid. TypeError (when applied): elements are not string vectors.
    """
    if features is None:
        raise ValueError("Missing: features was %s." % features)
    with_rows = with_batch_rows(features)
    lists = FeatureLists(with_rows, (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature))

    def apply(dataset: DatasetV2) -> DatasetV2:
        if not TensorSpec([None], dtypes.string).is_compatible_with(dataset.element_spec):
            raise TypeError("Input dataset should be a dataset of vectors of strings")
        defaults = lists.default_tensors()
        batch = dataset.element_spec.shape
        # Dense features have the batch shape in front of their own; sparse ones the batch shape and an unknown number of values.
        spec: dict[str, Any] = {
            key: TensorSpec(batch.concatenate(shape), kind) for key, kind, shape in zip(lists.dense_keys, lists.dense_types, lists.shapes())
        }
        for key, kind in zip(lists.sparse_keys, lists.sparse_types):
            spec[key] = SparseTensorSpec(batch.concatenate(TensorShape([None])), kind)
        made = raw.ParseExampleDataset(
            dataset._variant_tensor, number(num_parallel_calls, "num_parallel_calls"), defaults, sparse_keys=lists.sparse_keys,
            dense_keys=lists.dense_keys, sparse_types=lists.sparse_types, dense_shapes=lists.shapes(), **flat_attrs(spec),
        )  # fmt: skip
        parsed = dataset._made(made, spec)
        # A SparseFeature is parsed as several VarLenFeatures, which are combined afterwards.
        if any(isinstance(feature, SparseFeature) for feature in features.values()):
            parsed = parsed.map(lambda x: with_sparse_features(with_rows, x), num_parallel_calls=num_parallel_calls)
        return parsed

    return apply
