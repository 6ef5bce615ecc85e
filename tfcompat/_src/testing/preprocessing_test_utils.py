"""`tensorflow.python.keras.layers.preprocessing.preprocessing_test_utils`: checks of what preprocessing layers learn from data."""

from __future__ import annotations

import collections.abc
from typing import Any

import numpy as np

from tfcompat._src.testing.test_case import TestCase


class PreprocessingLayerTest(TestCase):
    """Checks combiners: whichever way data is split, what is learned of it is the same."""

    def assertAllCloseOrEqual(self, a: Any, b: Any, msg: str | None = None) -> None:  # noqa: N802
        """Fails where two nests of arrays differ: numbers by more than a tolerance, anything else at all."""
        if isinstance(a, collections.abc.Mapping):
            self.assertEqual(len(a), len(b))
            for key, value in a.items():
                self.assertAllCloseOrEqual(value, b[key], f"{msg} ({key})" if msg else None)
        elif isinstance(a, list | tuple):
            self.assertEqual(len(a), len(b))
            for value, other in zip(a, b):
                self.assertAllCloseOrEqual(value, other, msg)
        else:
            check = self.assertAllClose if np.issubdtype(a.dtype, np.number) else self.assertAllEqual
            check(a, b, msg=msg)

    def assert_extracted_output_equal(self, combiner: Any, acc1: Any, acc2: Any, msg: str | None = None) -> None:
        """Fails where a combiner takes different results from two accumulators."""
        self.assertAllCloseOrEqual(combiner.extract(acc1), combiner.extract(acc2), msg=msg)

    def validate_accumulator_computation(self, combiner: Any, data: Any, expected: object) -> None:
        """Fails where parts of the data, merged in several ways, give another accumulator than `expected`.

        Raises:
          AssertionError: also for fewer than four samples.
        """
        if len(data) < 4:
            raise AssertionError("Data must have at least 4 elements.")
        parts = [np.array([data[0]]), np.array([data[1]]), np.array(data[2:])]
        first, second, third = (combiner.compute(part) for part in parts)
        whole = combiner.merge([first, second, third])
        ways = {
            "Sharding data should not change the data output.": combiner.compute(data),
            "The order of merge arguments should not change the data output.": combiner.merge([second, third, first]),
            "Nesting merge arguments should not change the data output.": combiner.merge([second, combiner.merge([third, first])]),
            "Nesting compute arguments should not change the data output.":
                combiner.compute(parts[0], combiner.compute(parts[1], combiner.compute(parts[2]))),
            "Mixing merge and compute calls should not change the data output.":
                combiner.merge([first, combiner.compute(parts[1], combiner.compute(parts[2]))]),
        }  # fmt: skip
        for msg, found in ways.items():
            self.assertAllCloseOrEqual(whole, found, msg=msg)
        self.assertAllCloseOrEqual(expected, whole)

    def validate_accumulator_extract(self, combiner: Any, data: Any, expected: Any) -> None:
        """Fails where the result for the data is not `expected`."""
        self.assertAllCloseOrEqual(expected, combiner.extract(combiner.compute(data)))

    def validate_accumulator_extract_and_restore(self, combiner: Any, data: Any, expected: Any) -> None:
        """Fails where an accumulator made of the result for the data gives another result."""
        made = combiner.compute(data)
        restored = combiner.restore(combiner.extract(made))
        self.assert_extracted_output_equal(combiner, made, restored)
        self.assertAllCloseOrEqual(expected, combiner.extract(restored))

    def validate_accumulator_serialize_and_deserialize(self, combiner: Any, data: Any, expected: object) -> None:
        """Fails where an accumulator is another one when it is read back; `expected` is unused, as in TensorFlow."""
        made = combiner.compute(data)
        self.assertAllCloseOrEqual(made, combiner.deserialize(combiner.serialize(made)))

    def validate_accumulator_uniqueness(self, combiner: Any, data: Any) -> None:
        """Fails where two accumulators of the same data are one object, or differ."""
        made, again = combiner.compute(data), combiner.compute(data)
        self.assertIsNot(made, again)
        self.assertAllCloseOrEqual(made, again)
