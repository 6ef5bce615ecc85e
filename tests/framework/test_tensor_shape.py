import pytest
from framework.golden_outcomes import found, recorded

from tfcompat._src.base import tensor_shape
from tfcompat._src.base.tensor_shape import Dimension, TensorShape
from tfcompat._src.proto import messages


@pytest.mark.parametrize("group", ["tensor_shape", "tensor_shape_v2"])
def test_every_recorded_expression_is_tried(group):
    assert len(recorded(group)) > 10


@pytest.mark.parametrize("expression, expected", recorded("tensor_shape"))
def test_recorded(expression, expected):
    assert found("tensor_shape", expression) == expected


@pytest.mark.parametrize("expression, expected", recorded("tensor_shape_v2"))
def test_recorded_with_v2_shapes(expression, expected):
    assert found("tensor_shape_v2", expression) == expected


@pytest.mark.parametrize("sizes", [None, (), (3,), (2, None, 4)])
def test_sizes_and_proto_round_trip(sizes):
    shape = TensorShape.of(sizes)
    assert shape.sizes == TensorShape(sizes).sizes == sizes
    assert TensorShape(shape.as_proto()).sizes == sizes
    assert TensorShape(messages.TensorShapeProto.FromString(shape.as_proto().SerializeToString())).sizes == sizes


def test_a_shape_with_an_unknown_size_equals_only_itself():
    shape = TensorShape([1, None])
    assert shape == shape and not shape != shape
    assert not shape == TensorShape([1, None])


def test_dimension_is_an_index():
    assert list(range(Dimension(3))) == [0, 1, 2]
    assert [0] * Dimension(2) == [0, 0]
    with pytest.raises(TypeError):
        range(Dimension(None))


def test_unknown_operands_give_none_in_comparisons():
    unknown = Dimension(None)
    for result in (Dimension(1) < None, unknown >= 2, unknown == Dimension(None), Dimension(1) != unknown):
        assert result is None


def test_set_behaviour_is_restored():
    assert isinstance(TensorShape([1])[0], Dimension)
    tensor_shape.enable_v2_tensorshape()
    try:
        assert TensorShape([1])[0] == 1 and type(TensorShape([1])[0]) is int
    finally:
        tensor_shape.disable_v2_tensorshape()
    assert isinstance(TensorShape([1])[0], Dimension)
