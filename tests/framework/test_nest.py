import collections

import numpy as np
import pytest
from framework.golden_outcomes import found, recorded

from tfcompat._src.base import dtypes, nest
from tfcompat._src.base.composite_tensor import CompositeTensor
from tfcompat._src.nodes import tensor_spec, type_spec


class PairSpec(type_spec.TypeSpec):
    def __init__(self, specs, tag=None):
        self.specs, self.tag = specs, tag

    value_type = property(lambda self: Pair)
    _component_specs = property(lambda self: self.specs)

    def _serialize(self):
        return self.specs, self.tag

    def _to_components(self, value):
        return value.parts

    def _from_components(self, components):
        return Pair(components, self.tag)


class Pair(CompositeTensor):
    def __init__(self, parts, tag=None):
        self.parts, self.tag = parts, tag

    @property
    def _type_spec(self):
        return PairSpec(nest.map_structure(type_spec.type_spec_from_value, self.parts), self.tag)


def _pair(*sizes, tag=None):
    return Pair(tuple(np.full(n, n, np.float32) for n in sizes), tag)


@pytest.mark.parametrize("expression, expected", recorded("nest"))
def test_recorded(expression, expected):
    assert found("nest", expression) == expected


def test_composites_are_leaves_unless_expanded():
    value = {"k": [_pair(1, 2)]}
    assert nest.flatten(value) == [value["k"][0]]
    assert [a.shape for a in nest.flatten(value, expand_composites=True)] == [(1,), (2,)]
    assert list(nest.yield_flat_paths(value, expand_composites=True)) == [("k", 0, "Pair", 0), ("k", 0, "Pair", 1)]


def test_composites_and_their_specs_are_packed():
    value = _pair(1, 2, tag="t")
    for structure in (value, value._type_spec):
        packed = nest.pack_sequence_as([structure], ["a", "b"], expand_composites=True)[0]
        assert (type(packed), packed.parts, packed.tag) == (Pair, ("a", "b"), "t")


def test_composites_of_another_type_differ():
    nest.assert_same_structure(_pair(1, 2), _pair(3, 4), expand_composites=True)
    nest.assert_same_structure(_pair(1), _pair(3, 4))
    for other in (_pair(1), _pair(1, 2, tag="t")):
        with pytest.raises(ValueError, match="same nested structure"):
            nest.assert_same_structure(_pair(1, 2), other, expand_composites=True)


def test_specs():
    value = _pair(1, 2)
    spec = value._type_spec
    assert spec == _pair(1, 2)._type_spec and hash(spec) == hash(_pair(1, 2)._type_spec)
    assert spec != _pair(1, 3)._type_spec
    assert not spec.is_compatible_with(_pair(1, 3))
    merged = spec.most_specific_compatible_type(_pair(1, 3)._type_spec)
    assert [s.shape.sizes for s in merged._flat_tensor_specs] == [(1,), (None,)]
    with pytest.raises(ValueError):
        spec.most_specific_compatible_type(_pair(1, 2, tag="t")._type_spec)


def test_tensor_spec_is_a_leaf():
    spec = tensor_spec.TensorSpec([1, None], np.int32, name="x")
    assert nest.flatten(spec, expand_composites=True) == [spec]
    assert repr(spec) == "TensorSpec(shape=(1, ?), dtype=tf.int32, name='x')"
    assert spec == tensor_spec.TensorSpec([1, None], dtypes.int32, "x")
    assert spec.is_compatible_with(tensor_spec.TensorSpec([1, 7], dtypes.int32))
    assert not spec.is_compatible_with(tensor_spec.TensorSpec([2, 7], dtypes.int32))


def test_bounded_tensor_spec():
    spec = tensor_spec.BoundedTensorSpec((3, 5), dtypes.uint8, 0, (1, 2, 3, 4, 5))
    with pytest.raises(ValueError, match="read-only"):
        spec.maximum[0] = 9
    with pytest.raises(ValueError, match="not compatible"):
        tensor_spec.BoundedTensorSpec((3, 5), dtypes.uint8, (0, 0, 0), 1)
    assert tensor_spec.BoundedTensorSpec.from_spec(tensor_spec.TensorSpec([1], dtypes.int32)).maximum == 2**31 - 1


def test_attrs_objects():
    class Sample:
        __attrs_attrs__ = [collections.namedtuple("Attribute", "name")(n) for n in ("b", "a")]

        def __init__(self, b, a):
            self.a, self.b = a, b

    assert nest.flatten(Sample(1, [2])) == [1, 2]
    packed = nest.pack_sequence_as(Sample(1, [2]), [3, 4])
    assert (type(packed), packed.b, packed.a) == (Sample, 3, [4])


def test_functions_see_paths_and_parts():
    assert nest.map_structure(lambda x, y: x + y, {"b": 1, "a": (2,)}, {"b": 3, "a": (4,)}) == {"b": 4, "a": (6,)}
    assert nest.map_structure_with_paths(lambda p, x: (p, x), {"a": [1, 2]}) == {"a": [("a/0", 1), ("a/1", 2)]}
    assert nest.map_structure_up_to([1, [1]], lambda x: x, [{"a": 1}, [(2, 3)]]) == [{"a": 1}, [(2, 3)]]
