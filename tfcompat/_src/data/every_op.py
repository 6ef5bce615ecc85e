"""Imports every module of tf.data that registers op types."""

from tfcompat._src.data import (  # noqa: F401
    assertion_ops,
    batch_ops,
    buffer_ops,
    call_batches,
    distribution_ops,
    fastest_ops,
    iterator_resources,
    map_defun,
    multi_device_ops,
    option_ops,
    parallel_ops,
    pipeline_ops,
    reader_ops,
    shuffle_ops,
    snapshot_ops,
    source_ops,
    stats_ops,
    transform_ops,
)
from tfcompat._src.data.experimental import parsing  # noqa: F401
