"""Names that TensorFlow 1.15.5 has below its own modules only: hasattr on the public namespace says no, the import finds them."""

import importlib
import operator

import pytest

import tfcompat as tf

tf.install_as_tensorflow()

PUBLIC = [
    "contrib.framework.arg_scope_func_key", "contrib.layers.sparse_feature_cross", "contrib.learn.GraphRewriteSpec", "contrib.learn.MetricKey",
    "contrib.learn.loss_only_head", "contrib.tpu.StreamingFilesDataset", "contrib.tpu.TPUClusterResolver", "io.deserialize_sparse", "random.crop", "train.confusion_matrix",
    "keras.backend.is_keras_tensor", "estimator.experimental.boosted_trees_classifier_train_in_memory",
    "estimator.experimental.boosted_trees_regressor_train_in_memory",
]  # fmt: skip
INTERNAL = [
    "contrib.framework.python.ops.arg_scope.arg_scope_func_key",
    "contrib.layers.python.ops.sparse_feature_cross_op.sparse_feature_cross",
    "contrib.learn.python.learn.estimators.estimator.GraphRewriteSpec",
    "contrib.learn.python.learn.estimators.head.loss_only_head",
    "contrib.learn.python.learn.estimators.metric_key.MetricKey",
    "contrib.cluster_resolver.TPUClusterResolver",
    "contrib.estimator.boosted_trees_classifier_train_in_memory",
    "python.ops.sparse_ops.deserialize_sparse",
    "python.keras.backend.is_keras_tensor",
    "contrib.tpu.python.tpu.datasets.StreamingFilesDataset",
    "python.tpu.datasets.StreamingFilesDataset",
    "python.data.experimental.ops.map_defun.map_defun",
    "python.data.experimental.ops.optimization.assert_next",
    "python.data.experimental.ops.snapshot.snapshot",
]


@pytest.mark.parametrize("name", PUBLIC)
def test_not_public(name):
    with pytest.raises(AttributeError, match="TensorFlow 1.15 does not have it"):
        operator.attrgetter(name)(tf)


@pytest.mark.parametrize("path", INTERNAL)
def test_found_where_tensorflow_has_it(path):
    module, _, name = path.rpartition(".")
    assert getattr(importlib.import_module("tensorflow." + module), name).__name__ == name
