"""py_func and py_function: what becomes of results and exceptions. Expected values are those of TensorFlow 1.15.5."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode


def run(function, kind, make=tf.py_func):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(make(function, [], kind))


def test_strings_are_bytes_with_the_nuls_that_numpy_keeps():
    assert run(lambda: np.array(["a", "\u00e9"], object), tf.string).tolist() == [b"a", b"\xc3\xa9"]
    assert run(lambda: b"a\0b\0", tf.string) == b"a\0b\0"
    assert run(lambda: "a\0b\0", tf.string) == b"a\0b"
    assert run(lambda: [[b"a\0", b"bb"]], tf.string).tolist() == [b"a\0", b"bb"]
    assert run(lambda: [["a\0", "bb"]], tf.string).tolist() == [b"a", b"bb"]
    assert run(lambda: np.array([b"a", b"bc\0", b"d\0e"]), tf.string).tolist() == [b"a", b"bc", b"d\0e"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.zeros(2, "M8[s]"), "Unsupported numpy type: NPY_DATETIME"), (np.zeros(2, "m8[s]"), "Unsupported numpy type: NPY_TIMEDELTA"),
        (np.longdouble(1), "Unsupported numpy type: NPY_LONGDOUBLE"), (np.zeros(2, [("x", np.int8)]), "Unsupported numpy data type"),
        (np.array([None, b"b"], object), "Unsupported object type NoneType"), ({"a": 1}, "Unsupported object type dict"),
    ],
)  # fmt: skip
def test_arrays_that_no_tensor_holds(value, text):
    with pytest.raises(tf.errors.InternalError, match=text):
        run(lambda: value, tf.int64)


def test_quantized_arrays_come_through():
    assert run(lambda: np.array([1, 2], tf.qint8.as_numpy_dtype), tf.qint8).tolist() == [1, 2]


@pytest.mark.parametrize("make", [tf.py_func, tf.py_function])
def test_only_functions_become_nodes(make):
    with pytest.raises(ValueError, match="Expected func to be callable, got func of type <class 'int'>"):
        make(5, [], tf.float32)


KINDS = [
    (ValueError, tf.errors.InvalidArgumentError), (StopIteration, tf.errors.OutOfRangeError), (MemoryError, tf.errors.ResourceExhaustedError),
    (NotImplementedError, tf.errors.UnimplementedError), (KeyError, tf.errors.UnknownError),
]  # fmt: skip


def raiser(kind):
    def function():
        raise kind("a word")

    return function


@pytest.mark.parametrize(("raised", "kind"), KINDS)
def test_exceptions_of_functions_of_tensors_keep_their_traceback(raised, kind):
    with pytest.raises(kind, match=rf"^{raised.__name__}: '?a word'?\nTraceback \(most recent"):
        run(raiser(raised), tf.float32, tf.py_function)


@pytest.mark.parametrize(("raised", "kind"), KINDS)
def test_exceptions_where_operations_run_at_once(raised, kind):
    with eager_mode():
        with pytest.raises(kind, match=raised.__name__):
            tf.py_function(raiser(raised), [], tf.float32)
        with pytest.raises(raised, match="a word"):
            tf.py_func(raiser(raised), [], tf.float32)


@pytest.mark.parametrize("make", [tf.py_func, tf.numpy_function])
def test_what_is_no_function_where_operations_run_at_once(make):
    with eager_mode(), pytest.raises(TypeError, match="'int' object is not callable"):
        make(5, [], tf.float32)


def test_errors_of_tensorflow_in_functions_of_tensors_end_no_input():
    def function():
        raise tf.errors.OutOfRangeError(None, None, "no more")

    with pytest.raises(tf.errors.UnknownError, match="OutOfRangeError: no more"):
        run(function, tf.float32, tf.py_function)
