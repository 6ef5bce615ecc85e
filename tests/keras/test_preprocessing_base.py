"""The base of TensorFlow's tests of preprocessing layers passes a combiner that may be split, and fails others."""

import numpy as np
import pytest

from tfcompat._src.keras.layers.preprocessing.normalization import Normalization
from tfcompat._src.testing.preprocessing_test_utils import PreprocessingLayerTest

DATA = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]])
MOMENTS = {"count": np.array(5.0), "mean": np.array([3.0]), "variance": np.array([2.0])}


class Case(PreprocessingLayerTest):
    def runTest(self):  # noqa: N802
        """No test."""


class Last(Normalization._NormalizingCombiner):
    """Keeps the moments of the last part only, and one object for all accumulators."""

    same = Normalization._NormalizingCombiner(-1).compute(DATA)

    def merge(self, accumulators):
        return accumulators[-1]

    def deserialize(self, encoded_accumulator):
        return self.compute(DATA[:1])


class Shared(Last):
    def compute(self, batch_values, accumulator=None):
        return self.same


def test_normalization_passes():
    combiner = Normalization._NormalizingCombiner(-1)
    Case().validate_accumulator_computation(combiner, DATA, combiner._create_accumulator(**MOMENTS))
    Case().validate_accumulator_extract(combiner, DATA, MOMENTS)
    Case().validate_accumulator_extract_and_restore(combiner, DATA, MOMENTS)
    Case().validate_accumulator_serialize_and_deserialize(combiner, DATA, MOMENTS)
    Case().validate_accumulator_uniqueness(combiner, DATA)


def test_others_fail():
    wrong = Last(-1)
    for check in (Case().validate_accumulator_computation, Case().validate_accumulator_serialize_and_deserialize):
        with pytest.raises(AssertionError):
            check(wrong, DATA, wrong.compute(DATA))
    with pytest.raises(AssertionError):
        Case().validate_accumulator_extract(wrong, DATA, {**MOMENTS, "mean": np.array([2.0])})
    with pytest.raises(AssertionError):
        Case().validate_accumulator_uniqueness(Shared(-1), DATA)
    with pytest.raises(AssertionError, match="at least 4"):
        Case().validate_accumulator_computation(wrong, DATA[:3], None)
