"""`tensorflow.python.data.experimental.kernel_tests.serialization.dataset_serialization_test_base`: tests of iterators that are saved and restored.

A test names a dataset; the base class iterates over it in one go, and again with breaks, at each of which the iterator is saved, the graph and
the session are thrown away, and a new iterator is restored. Both ways must give the same elements.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes, errors, nest
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.data.dataset import DatasetV2
from tfcompat._src.data.dataset_v1 import (
    get_legacy_output_classes,
    get_legacy_output_shapes,
    get_legacy_output_types,
    make_initializable_iterator,
)
from tfcompat._src.data.experimental.iterator_saving import make_saveable_from_iterator
from tfcompat._src.data.options import Options
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import add_to_collection, get_collection
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor, SparseTensorValue
from tfcompat._src.ops.ragged.value import RaggedTensorValue
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.testing.test_case import TestCase
from tfcompat._src.train.checkpoint_management import latest_checkpoint
from tfcompat._src.train.saver import Saver, import_meta_graph
from tfcompat._src.variables.collections import global_variables_initializer, tables_initializer

MakeDataset = Callable[[], DatasetV2]

_OPS = "iterator_ops"


def remove_variants(get_next_op: object) -> Any:
    """A structure of tensors with `()` where a tensor of variants stands, which a session cannot fetch."""
    return nest.map_structure(lambda x: () if isinstance(x, Tensor) and x.dtype == dtypes.variant else x, get_next_op)


class DatasetSerializationTestBase(TestCase):
    """What tests of saved and restored iterators are built on.

    `ds_fn` makes the dataset in the open graph; `num_outputs` is how many elements it has, or how many are looked at; `sparse_tensors` says that
    it gives the three parts of a sparse tensor; `verify_exhausted` demands that nothing follows them.
    """

    def tearDown(self) -> None:
        for path in glob.glob(glob.escape(self._ckpt_path()) + "*"):
            os.remove(path)
        super().tearDown()

    # ---- what a test asks for ----

    def run_core_tests(self, ds_fn: MakeDataset, num_outputs: int, sparse_tensors: bool = False) -> None:
        """All that holds for every iterator: unused, used, exhausted, with many breaks and begun anew. Datasets are not rewritten in it."""
        options = Options()
        options.experimental_optimization.apply_default_optimizations = False

        def as_written() -> DatasetV2:
            return ds_fn().with_options(options)

        self.verify_unused_iterator(as_written, num_outputs, sparse_tensors)
        self.verify_fully_used_iterator(as_written, num_outputs, sparse_tensors)
        self.verify_exhausted_iterator(as_written, num_outputs, sparse_tensors)
        self.verify_multiple_breaks(as_written, num_outputs, sparse_tensors=sparse_tensors)
        self.verify_reset_restored_iterator(as_written, num_outputs, sparse_tensors=sparse_tensors)

    def verify_unused_iterator(self, ds_fn: MakeDataset, num_outputs: int, sparse_tensors: bool = False, verify_exhausted: bool = True) -> None:
        """An iterator saved before it gave anything gives all when it is restored."""
        self.verify_run_with_breaks(ds_fn, [0], num_outputs, sparse_tensors, verify_exhausted)

    def verify_fully_used_iterator(self, ds_fn: MakeDataset, num_outputs: int, sparse_tensors: bool = False) -> None:
        """An iterator saved after its last element, before it said that it is at its end, gives nothing more."""
        self.verify_run_with_breaks(ds_fn, [num_outputs], num_outputs, sparse_tensors)

    def verify_exhausted_iterator(self, ds_fn: MakeDataset, num_outputs: int, sparse_tensors: bool = False) -> None:
        """An iterator saved after it said that it is at its end says so again."""
        self.gen_outputs(ds_fn, [], num_outputs, sparse_tensors=sparse_tensors)
        self.assertEqual(self.gen_outputs(ds_fn, [], 0, ckpt_saved=True, sparse_tensors=sparse_tensors), [])

    def verify_multiple_breaks(
        self, ds_fn: MakeDataset, num_outputs: int, num_breaks: int = 10, sparse_tensors: bool = False, verify_exhausted: bool = True
    ) -> None:
        """`num_breaks` breaks at equal distances change nothing."""
        self.verify_run_with_breaks(ds_fn, self.gen_break_points(num_outputs, num_breaks), num_outputs, sparse_tensors, verify_exhausted)

    def verify_reset_restored_iterator(
        self, ds_fn: MakeDataset, num_outputs: int, break_point: int | None = None, sparse_tensors: bool = False, verify_exhausted: bool = True
    ) -> None:
        """A restored iterator that is initialized again gives all from the start."""
        expected = self.gen_outputs(ds_fn, [], num_outputs, sparse_tensors=sparse_tensors, verify_exhausted=verify_exhausted)
        self.gen_outputs(ds_fn, [], break_point or num_outputs // 2, sparse_tensors=sparse_tensors, verify_exhausted=False)
        with self._iteration(ds_fn, sparse_tensors, restore=True) as (session, init_op, get_next, _):
            self._initialize(init_op, session)
            actual = [session.run(get_next) for _ in range(num_outputs)]
            self._check_end(verify_exhausted, session, get_next)
        self.match(expected, actual)

    def verify_error_on_save(
        self, ds_fn: MakeDataset, num_outputs: int, error: Any, break_point: int | None = None, sparse_tensors: bool = False
    ) -> None:
        """Saving the iterator after `break_point` elements (half of them by default) raises `error`."""
        with self._iteration(ds_fn, sparse_tensors, restore=False) as (session, _, get_next, saver):
            for _ in range(break_point or num_outputs // 2):
                session.run(get_next)
            with self.assertRaises(error):
                self._save(session, saver)

    def verify_run_with_breaks(
        self, ds_fn: MakeDataset, break_points: Sequence[int], num_outputs: int, sparse_tensors: bool = False, verify_exhausted: bool = True
    ) -> None:
        """Breaks after so many elements change nothing."""
        expected = self.gen_outputs(ds_fn, [], num_outputs, sparse_tensors=sparse_tensors, verify_exhausted=verify_exhausted)
        actual = self.gen_outputs(ds_fn, break_points, num_outputs, sparse_tensors=sparse_tensors, verify_exhausted=verify_exhausted)
        self.match(expected, actual)

    # ---- what they are made of ----

    def gen_outputs(
        self, ds_fn: MakeDataset, break_points: Sequence[int], num_outputs: int, ckpt_saved: bool = False, sparse_tensors: bool = False,
        verify_exhausted: bool = True, save_checkpoint_at_end: bool = True
    ) -> list:  # fmt: skip
        """The first `num_outputs` elements of a dataset, with the iterator saved and restored after as many elements as `break_points` say.

        Arguments:
          ds_fn: makes the dataset.
          break_points: rising numbers of elements, none above `num_outputs`.
          num_outputs: how many elements in all.
          ckpt_saved: whether to begin with the iterator that was saved last.
          sparse_tensors: whether the dataset gives the three parts of a sparse tensor.
          verify_exhausted: whether nothing may follow.
          save_checkpoint_at_end: whether the iterator is saved after the last element too.

        Returns:
          The elements as `Session.run` gives them.
        """
        outputs: list = []
        bounds = [0, *break_points, num_outputs]
        for piece, (start, end) in enumerate(zip(bounds, bounds[1:])):
            is_last = piece == len(break_points)
            with self._iteration(ds_fn, sparse_tensors, restore=ckpt_saved) as (session, _, get_next, saver):
                outputs += [session.run(get_next) for _ in range(end - start)]
                self._check_end(verify_exhausted and is_last, session, get_next)
                if save_checkpoint_at_end or not is_last:
                    self._save(session, saver)
                    ckpt_saved = True
        return outputs

    def match(self, expected: Any, actual: Any) -> None:
        """Fails unless two structures of values are the same, in types, keys and elements."""
        expected, actual = (x.tolist() if isinstance(x, np.ndarray) else x for x in (expected, actual))
        self.assertEqual(type(expected), type(actual))
        if isinstance(expected, RaggedTensorValue):
            self.match((expected.values, expected.row_splits), (actual.values, actual.row_splits))
        elif isinstance(expected, SparseTensorValue) or nest.is_sequence(expected):
            self.assertEqual(len(expected), len(actual))
            if isinstance(expected, dict):
                self.assertEqual(sorted(expected), sorted(actual))
                expected, actual = ([x[key] for key in sorted(x)] for x in (expected, actual))
            for one, other in zip(expected, actual):
                self.match(one, other)
        else:
            self.assertEqual(expected, actual)

    def does_not_match(self, expected: object, actual: object) -> None:
        """Fails where `match` does not."""
        with self.assertRaises(AssertionError):
            self.match(expected, actual)

    def gen_break_points(self, num_outputs: int, num_samples: int = 10) -> np.ndarray:
        """`num_samples` integers at equal distances from 0 to `num_outputs`, both included."""
        return np.linspace(0, num_outputs, num_samples, dtype=int)

    @contextmanager
    def _iteration(self, ds_fn: MakeDataset, sparse_tensors: bool, restore: bool) -> Iterator[tuple[Session, Operation, Any, Saver]]:
        """A session in a graph of its own with an iterator that stands at the start, or where the saved one stood."""
        with Graph().as_default() as graph:
            if restore:
                saver = self._import_meta_graph()
                init_op, get_next = self._get_iterator_ops_from_collection(ds_fn, sparse_tensors)
            else:
                init_op, get_next, saver = self._build_graph(ds_fn, sparse_tensors)
            with self.session(graph=graph) as session:
                self._initialize(init_op, session)
                if restore:
                    self._restore(saver, session)
                yield session, init_op, remove_variants(get_next), saver

    def _check_end(self, is_wanted: bool, session: Session, get_next: object) -> None:
        if is_wanted:
            with self.assertRaises(errors.OutOfRangeError):
                session.run(get_next)

    def _build_graph(self, ds_fn: MakeDataset, sparse_tensors: bool = False) -> tuple[Operation, Any, Saver]:
        iterator = make_initializable_iterator(ds_fn())
        add_to_collection(GraphKeys.SAVEABLE_OBJECTS, make_saveable_from_iterator(iterator))
        get_next = SparseTensor(*iterator.get_next()) if sparse_tensors else iterator.get_next()
        self._add_iterator_ops_to_collection(iterator.initializer, get_next, ds_fn, sparse_tensors)
        return iterator.initializer, get_next, Saver(allow_empty=True)

    def _add_iterator_ops_to_collection(self, init_op: Operation, get_next: object, ds_fn: MakeDataset, sparse_tensors: bool = False) -> None:
        classes = [SparseTensor] if sparse_tensors else nest.flatten(self._get_output_classes(ds_fn))
        add_to_collection(_OPS, init_op)
        for value, its_class in zip(nest.flatten(get_next), classes):
            for part in (value.indices, value.values, value.dense_shape) if its_class is SparseTensor else (value,):
                add_to_collection(_OPS, part)

    def _get_iterator_ops_from_collection(self, ds_fn: MakeDataset, sparse_tensors: bool = False) -> tuple[Operation, Any]:
        init_op, *parts = get_collection(_OPS)
        if sparse_tensors:
            return init_op, SparseTensor(*parts)
        rest = iter(parts)
        values = [
            SparseTensor(next(rest), next(rest), next(rest)) if its_class is SparseTensor else next(rest)
            for its_class in nest.flatten(self._get_output_classes(ds_fn))
        ]
        return init_op, nest.pack_sequence_as(self._get_output_types(ds_fn), values)

    def _get_output_types(self, ds_fn: MakeDataset) -> Any:
        with Graph().as_default():
            return get_legacy_output_types(ds_fn())

    def _get_output_shapes(self, ds_fn: MakeDataset) -> Any:
        with Graph().as_default():
            return get_legacy_output_shapes(ds_fn())

    def _get_output_classes(self, ds_fn: MakeDataset) -> Any:
        with Graph().as_default():
            return get_legacy_output_classes(ds_fn())

    def _ckpt_path(self) -> str:
        return os.path.join(self.get_temp_dir(), "iterator")

    def _latest_ckpt(self) -> str | None:
        return latest_checkpoint(self.get_temp_dir())

    def _save(self, sess: Session, saver: Saver) -> None:
        saver.save(sess, self._ckpt_path())

    def _restore(self, saver: Saver, sess: Session) -> None:
        sess.run(tables_initializer())
        saver.restore(sess, self._latest_ckpt())

    def _initialize(self, init_op: Operation, sess: Session) -> None:
        for op in (global_variables_initializer(), tables_initializer(), init_op):
            sess.run(op)

    def _import_meta_graph(self) -> Saver:
        return import_meta_graph(self._ckpt_path() + ".meta")
