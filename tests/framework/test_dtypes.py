import pickle

import ml_dtypes
import numpy as np
import pytest
from framework.golden_outcomes import found, recorded

from tfcompat._src.base import dtypes


@pytest.mark.parametrize("expression, expected", recorded("dtypes"))
def test_recorded(expression, expected):
    assert found("dtypes", expression) == expected


def test_every_type_is_one_object():
    for enum, name in dtypes._TYPE_TO_STRING.items():
        dtype = dtypes.as_dtype(enum)
        assert dtype is dtypes.DType(enum) is dtypes.as_dtype(name) is pickle.loads(pickle.dumps(dtype))
        assert dtype is getattr(dtypes, name)
        assert dtype.as_datatype_enum == enum and hash(dtype) == enum


def test_numpy_dtypes_of_any_byte_order_and_length():
    assert dtypes.as_dtype(np.dtype(">f4")) is dtypes.float32
    assert dtypes.as_dtype(np.dtype("S9")) is dtypes.string
    assert dtypes.as_dtype(np.dtype([("qint8", np.int8)])) is dtypes.qint8


def test_bfloat16_is_that_of_ml_dtypes():
    assert dtypes.as_dtype(ml_dtypes.bfloat16) is dtypes.as_dtype(np.dtype(ml_dtypes.bfloat16)) is dtypes.bfloat16
    assert dtypes.bfloat16.size == 2
    assert float(dtypes.bfloat16.max) == float.fromhex("0x1.FEp127") == -float(dtypes.bfloat16.min)


def test_float16_range_is_numpy_s():
    assert (dtypes.float16.min, dtypes.float16.max) == (np.finfo(np.float16).min, np.finfo(np.float16).max)


def test_attributes_cannot_be_set():
    with pytest.raises(AttributeError):
        dtypes.float32.name = "other"
    assert dtypes.float32.name == "float32"


@pytest.mark.parametrize("enum", [0, 24, 100, 124])
def test_numbers_without_a_type(enum):
    with pytest.raises(TypeError):
        dtypes.DType(enum)
    with pytest.raises(TypeError):
        dtypes.as_dtype(enum)
