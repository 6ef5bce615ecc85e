"""Functions below tf.Tensor that programs call where operations run at once; values and messages are those of TensorFlow 1.15.5."""

import sys

import ml_dtypes
import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.graph.eager_tensor import EagerTensor
from tfcompat._src.shim.internal import eager_execute, pywrap, pywrap_eager


def tensor(value):
    return EagerTensor(value, None)


def test_sizes_of_one_dimension():
    tensors = [tensor(np.zeros([3, 2])), tensor(np.zeros([4, 5]))]
    found = pywrap.TFE_Py_TensorShapeSlice(tensors, 1)
    assert found.dtype == tf.int32 and found.numpy().tolist() == [2, 5]
    assert pywrap.TFE_Py_TensorShapeSlice((), 0).shape == [0]


@pytest.mark.parametrize("tensors, dimension, error, message", [
    ([tensor([1]), tensor([[1]])], 1, IndexError, "must be smaller than rank of all tensors, but tensor at index 0 has rank 1"),
    ([tensor([1])], -1, ValueError, "Slice dimension must be non-negative. Got -1"),
    ([tensor([1]), 3], 0, TypeError, 'Expected a list of EagerTensors but element 1 has type "int"'),
    ("a", 0, TypeError, 'tensors argument must be a list or a tuple. Got "str"'),
])
def test_bad_sizes(tensors, dimension, error, message):
    with pytest.raises(error, match=message):
        pywrap.TFE_Py_TensorShapeSlice(tensors, dimension)


@pytest.fixture
def eagerly():
    with eager_mode():
        yield


def test_matching_dtypes(eagerly):
    of = eager_execute.args_to_matching_eager
    assert of([[3, 4]], None, tf.int64)[0] == tf.int64.as_datatype_enum
    assert of([["a"]], None, tf.int32)[0] == tf.string.as_datatype_enum
    kind, (one, two) = of([1, tf.constant(2.0)], None, tf.int32)
    assert kind == 1 and one.dtype == two.dtype == tf.float32
    with pytest.raises(TypeError):
        of([1, 2.0], None)
    kinds, (one, two) = eager_execute.convert_to_mixed_eager_tensors([1, 2.0], None)
    assert kinds == [3, 1] and one.numpy() == 1 and two.numpy() == 2.0


def test_bfloat16_is_the_type_of_arrays():
    assert pywrap.TF_bfloat16_type() is ml_dtypes.bfloat16


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes of Python give no buffers before 3.12")
def test_the_memory_of_a_tensor_can_be_viewed():
    view = memoryview(tensor(np.float32([[1, 2]])))
    assert (view.shape, view.format, view.readonly, view.strides) == ((1, 2), "f", True, (8, 4))
    assert np.array(memoryview(tensor(42.0))) == 42 and bytes(tensor(np.uint8([1, 2]))) == b"\x01\x02"


def test_numbers_that_are_no_dtype():
    with pytest.raises(TypeError, match="Invalid dtype argument value 12345"):
        EagerTensor(1, None, 12345)


def test_fast_operations_call_the_callbacks_that_are_given(eagerly):
    calls = []
    one, two = tf.constant(1.0), tf.constant(2.0)
    run = pywrap_eager.TFE_Py_FastPathExecute
    assert float(run(None, None, "Add", "n", [lambda *call: calls.append(call)], one, two)) == 3.0
    ((op_type, inputs, _, outputs, name),) = calls
    assert (op_type, name, [float(x) for x in inputs], [float(x) for x in outputs]) == ("Add", "n", [1.0, 2.0], [3.0])
    run(None, None, "Add", None, None, one, two)
    assert len(calls) == 1
    with pytest.raises(TypeError, match="expected a function for post execution callback in index 0, got int instead"):
        run(None, None, "Add", "n", [3], one, two)
