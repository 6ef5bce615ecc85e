"""Names that packages of tf.contrib hold without listing them, and modules below `tensorflow.python`."""

import functools
import importlib

import pytest

import tfcompat as tf

tf.install_as_tensorflow()


@pytest.mark.parametrize(
    ("path", "stands_for"),
    [
        ("contrib.slim.initializers.xavier_initializer", "contrib.layers.xavier_initializer"),
        ("contrib.slim.layers.conv2d", "contrib.layers.conv2d"),
        ("contrib.slim.regularizers.l2_regularizer", "contrib.layers.l2_regularizer"),
        ("contrib.slim.init_ops.constant_initializer", "constant_initializer"),
        ("contrib.util.make_tensor_proto", "make_tensor_proto"),
        ("contrib.framework.prepend_name_scope", "python.framework.ops.prepend_name_scope"),
        ("python.layers.utils.normalize_tuple", "python.keras.utils.conv_utils.normalize_tuple"),
    ],
)
def test_packages_hold_the_modules_that_they_import(path, stands_for):
    def found(path):
        module, _, name = ("tensorflow." + path).rpartition(".")
        owner = (
            importlib.import_module(module)
            if path.startswith("python.")
            else functools.reduce(getattr, path.split(".")[:-1], tf)
        )
        return getattr(owner, name)

    assert found(path) is found(stands_for)


def test_a_package_lacks_what_it_does_not_import():
    with pytest.raises(AttributeError, match="tf.contrib.slim.no_such_name"):
        tf.contrib.slim.no_such_name


@pytest.mark.parametrize("module", ["tensorflow", "tensorflow.compat.v1", "tensorflow.nn"])
def test_a_star_imports_all_public_names(module):
    found = {}
    exec(f"from {module} import *", found)
    names = {name for name in dir(importlib.import_module(module)) if not name.startswith("_")}
    assert names == {name for name in found if not name.startswith("_")}
    assert "importlib" not in found and ("estimator" in found) == (module != "tensorflow.nn")


# ---- names of internal modules; values from TensorFlow 1.15.5 ----


def test_tensor_like_classes():
    kinds = importlib.import_module("tensorflow.python.framework.ops")._TensorLike
    with tf.Graph().as_default():
        found = [isinstance(x, kinds) for x in (tf.constant(1), 1, tf.IndexedSlices(tf.zeros([1]), [0]))]
    assert found == [True, False, True]


def test_a_pure_variable_scope_has_no_name_scope():
    scopes = importlib.import_module("tensorflow.python.ops.variable_scope")
    with tf.Graph().as_default(), scopes._pure_variable_scope("s"):
        assert [tf.get_variable("v", []).name, tf.constant(1.0, name="c").name] == ["s/v:0", "c:0"]


def test_objects_of_a_registered_class_are_symbolic():
    class Holder:
        def __init__(self, tensor):
            self.tensor = tensor

    utils = importlib.import_module("tensorflow.python.keras.utils.tf_utils")
    tf.register_tensor_conversion_function(Holder, lambda value, dtype=None, name=None, as_ref=False: value.tensor)
    with tf.Graph().as_default():
        holder = Holder(tf.constant(1.0))
        before = utils.is_symbolic_tensor(holder)
        utils.register_symbolic_tensor_type(Holder)
        assert [before, utils.is_symbolic_tensor(holder)] == [False, True]
