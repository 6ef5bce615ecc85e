"""Warnings about functions of datasets; the text is that of TensorFlow 1.15.5."""

import contextlib
import warnings

import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode


@pytest.mark.parametrize("mode", [eager_mode, lambda: tf.Graph().as_default()], ids=["eager", "graph"])
@pytest.mark.parametrize("method", ["map", "map_with_legacy_function"])
def test_tables_made_inside_are_warned_of(mode, method):
    def with_table(x):
        tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1)
        return x

    with mode(), contextlib.ExitStack() as stack:
        apply = getattr(tf.compat.v1.data.Dataset.range(3), method)
        with pytest.warns(UserWarning, match="Creating resources inside a function passed to Dataset.map\\(\\) is not supported."):
            apply(with_table)
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1)
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("error", UserWarning)
        tf.compat.v1.data.Dataset.from_tensor_slices(["a"]).map(table.lookup)
