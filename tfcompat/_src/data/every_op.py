"""Imports every module of tf.data that registers op types."""

from tfcompat._src.data import (  # noqa: F401
    batch_ops,
    buffer_ops,
    call_batches,
    distribution_ops,
    iterator_resources,
    multi_device_ops,
    option_ops,
    parallel_ops,
    pipeline_ops,
    reader_ops,
    shuffle_ops,
    source_ops,
    stats_ops,
    transform_ops,
)
from tfcompat._src.data.experimental import parsing  # noqa: F401
