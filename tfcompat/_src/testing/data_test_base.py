"""`tensorflow.python.data.kernel_tests.test_base`: what tests of datasets are built on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from tfcompat._src.base import dtypes, errors
from tfcompat._src.data import nest, structure
from tfcompat._src.data.dataset_v1 import (
    Dataset,
    get_legacy_output_shapes,
    get_legacy_output_types,
    get_structure,
    make_initializable_iterator,
    make_one_shot_iterator,
)
from tfcompat._src.graph.scopes import executing_eagerly
from tfcompat._src.nodes.sparse_tensor import is_sparse
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.flow.tensor_array import TensorArray
from tfcompat._src.ops.ragged.tensor import is_ragged
from tfcompat._src.testing import combinations
from tfcompat._src.testing.test_case import TensorFlowTestCase


def default_test_combinations() -> list:
    """The API versions and modes that tests of datasets run in."""
    return combinations.combine(tf_api_version=[1, 2], mode=["eager", "graph"])


def _stacked(element: object) -> Any:
    return element.stack() if isinstance(element, TensorArray) else element


class DatasetTestBase(TensorFlowTestCase):
    """A test case with assertions about what datasets give."""

    def assert_op_cancelled(self, op: object) -> None:
        """Running `op` raises CancelledError."""
        with self.assertRaises(errors.CancelledError):
            self.evaluate(op)

    def assertValuesEqual(self, expected: object, actual: object) -> None:
        """Two values, or the parts of two sparse ones, are equal."""
        if is_sparse(expected):
            for part in ("indices", "values", "dense_shape"):
                self.assertAllEqual(getattr(expected, part), getattr(actual, part))
        else:
            self.assertAllEqual(expected, actual)

    def getNext(self, dataset: Any, requires_initialization: bool = False, shared_name: str | None = None) -> Callable[[], Any]:
        """A function that gives the tensors of the next element; a TensorArray is stacked."""
        if executing_eagerly():
            iterator = iter(dataset)
            return lambda: _stacked(iterator.get_next())
        if requires_initialization:
            iterator = make_initializable_iterator(dataset, shared_name)
            self.evaluate(iterator.initializer)
        else:
            iterator = make_one_shot_iterator(dataset)
        element = iterator.get_next()
        if isinstance(element, TensorArray):
            return element.stack
        return lambda: element

    def assertDatasetProduces(
        self, dataset: object, expected_output: Sequence | None = None, expected_shapes: object = None, expected_error: tuple | None = None,
        requires_initialization: bool = False, num_test_iterations: int = 1, assert_items_equal: bool = False, expected_error_iter: int = 1,
    ) -> None:  # fmt: skip
        """A dataset gives these elements, or raises this error: (class, pattern or function of the error)."""
        self.assertNotEqual(expected_error is None, expected_output is None)
        if expected_error:
            with self.assertRaisesWithPredicateMatch(*expected_error):
                following = self.getNext(dataset, requires_initialization)
                for _ in range(expected_error_iter):
                    self.evaluate(following())
            return
        if expected_shapes:
            self.assertEqual(expected_shapes, get_legacy_output_shapes(dataset))
        for _ in range(num_test_iterations):
            following = self.getNext(dataset, requires_initialization)
            found = [self.evaluate(following()) for _ in expected_output or ()]
            self._assert_elements(found, expected_output or (), assert_items_equal)
            for _ in range(2):
                with self.assertRaises(errors.OutOfRangeError):
                    self.evaluate(following())

    def _assert_elements(self, found: Sequence, expected: Sequence, in_any_order: bool) -> None:
        if in_any_order:
            self.assertCountEqual(found, expected)
            return
        for one, other in zip(found, expected):
            nest.assert_same_structure(one, other)
            for value, wanted in zip(nest.flatten(one), nest.flatten(other)):
                self.assertValuesEqual(wanted, value)

    def assertDatasetsEqual(self, dataset1: object, dataset2: object) -> None:
        """Two datasets are of one type and give the same elements."""
        self.assertTrue(structure.are_compatible(get_structure(dataset1), get_structure(dataset2)))
        kinds = nest.flatten(get_legacy_output_types(dataset1))
        first, second = self.getNext(dataset1), self.getNext(dataset2)
        while True:
            try:
                element = self.evaluate(first())
            except errors.OutOfRangeError:
                with self.assertRaises(errors.OutOfRangeError):
                    self.evaluate(second())
                return
            pairs = zip(nest.flatten(element), nest.flatten(self.evaluate(second())), kinds, strict=True)
            for mine, theirs, kind in pairs:
                if is_sparse(mine) or is_ragged(mine):
                    self.assertValuesEqual(mine, theirs)
                elif kind == dtypes.string:
                    self.assertAllEqual(mine, theirs)
                else:
                    self.assertAllClose(mine, theirs)

    def assertDatasetsRaiseSameError(self, dataset1: object, dataset2: object, exception_class: type, replacements: Any = None) -> None:
        """The first elements of two datasets raise the same error; `replacements` are arguments of `str.replace` for the first's message."""
        first, second = self.getNext(dataset1), self.getNext(dataset2)
        with self.assertRaises(exception_class) as caught:
            self.evaluate(first())
        message = caught.exception.message
        for replacement in replacements or ():
            message = message.replace(*replacement)
        with self.assertRaisesRegex(exception_class, re.escape(message)):
            self.evaluate(second())

    def structuredDataset(self, dataset_structure: Any, shape: Any = None, dtype: object = dtypes.int64) -> Any:
        """A dataset of one element of zeros in nested tuples, as a structure of None says."""
        if dataset_structure is None:
            return Dataset.from_tensors(zeros(shape or [], dtype=dtype))
        return Dataset.zip(tuple(self.structuredDataset(inner, shape, dtype) for inner in dataset_structure))

    def structuredElement(self, element_structure: Any, shape: Any = None, dtype: object = dtypes.int64) -> Any:
        """Zeros in nested tuples, as a structure of None says."""
        if element_structure is None:
            return zeros(shape or [], dtype=dtype)
        return tuple(self.structuredElement(inner, shape, dtype) for inner in element_structure)
