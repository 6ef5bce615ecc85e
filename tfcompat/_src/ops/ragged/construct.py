"""The ways to make a ragged tensor: of row splits, lengths, starts, limits or row ids, of dense, sparse and variant tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.scopes import control_dependencies, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import convert_to_tensor_or_sparse_tensor, is_sparse
from tfcompat._src.nodes.tensor_spec import TensorSpec
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import expand_dims, shape
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_less, assert_less_equal, assert_non_negative
from tfcompat._src.ops.composed.rank_checks import assert_rank, assert_rank_at_least
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.reduce import reduce_max, reduce_sum
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.ragged import dense
from tfcompat._src.ops.ragged.partition import SPLIT_TYPES, assert_monotonic, assert_zero, lengths_to_splits

if TYPE_CHECKING:
    from typing import Self

    from tfcompat._src.base.arrays import TensorLike
    from tfcompat._src.base.dtypes import DTypeLike


def _check_flag(validate: object) -> None:
    if not isinstance(validate, bool):
        raise TypeError("validate must have type bool")


def _check_list(value: object, name: str) -> None:
    if isinstance(value, Tensor):
        raise TypeError(f"{name} must be a list of Tensors")


def _count(values: TensorLike, out_type: DTypeLike = dtypes.int32) -> Tensor:
    """The number of rows of a Tensor or RaggedTensor."""
    return values.nrows(out_type=out_type) if isinstance(values, Constructors) else shape(values, out_type=out_type)[0]


def _operands(values: TensorLike, partition: TensorLike, label: str) -> tuple[Any, Tensor]:
    """`values` as a Tensor or RaggedTensor, and the partition as a vector of the integer type that suits it."""
    wanted = values.row_splits.dtype if isinstance(values, Constructors) else None
    if wanted is None:
        values = convert_to_tensor(values, name="values")
    if not isinstance(partition, Tensor):
        keeps_int32 = isinstance(partition, np.ndarray) and partition.dtype == np.int32
        preferred = None if keeps_int32 else dtypes.int64
        partition = convert_to_tensor(partition, wanted, label, preferred_dtype=preferred)
    if partition.dtype not in SPLIT_TYPES:
        raise ValueError(f"{label} must have dtype int32 or int64")
    if wanted not in (None, partition.dtype):
        raise ValueError(f"dtype mismatch: {label} ({partition.dtype}) vs values.row_splits ({wanted})")
    partition.shape.assert_has_rank(1)
    return values, partition


def _demanded(values: TensorLike, partition: Tensor, label: str, demands: Callable, *context: object) -> Tensor:
    """The partition, given once the operations that `demands(partition, *context, message)` yields have passed."""
    found = list(demands(partition, *context, f"Arguments to from_{label} do not form a valid RaggedTensor"))
    if not isinstance(values, Constructors):
        found.append(assert_rank_at_least(values, 1))
    return with_dependencies(found, partition)


# ---- what partitions have to fulfil; `total()` is the number of values ----


def _splits_demands(splits: Tensor, total: Callable, message: str) -> Iterator[Any]:
    end = total()
    yield assert_rank(splits, 1, message=message)
    yield assert_zero(splits[0], message)
    yield assert_monotonic(splits, message)
    yield assert_equal(splits[-1], end, message=message)


def _lengths_demands(lengths: Tensor, total: Callable, message: str) -> Iterator[Any]:
    sums = reduce_sum(lengths), total()
    yield assert_rank(lengths, 1, message=message)
    yield assert_non_negative(lengths, message=message)
    yield assert_equal(*sums, message=message)


def _starts_demands(starts: Tensor, total: Callable, message: str) -> Iterator[Any]:
    end = total()
    yield assert_rank(starts, 1, message=message)
    yield assert_zero(starts[:1], message)
    yield assert_monotonic(starts, message)
    yield assert_less_equal(starts[-1:], end, message=message)


def _limits_demands(limits: Tensor, total: Callable, message: str) -> Iterator[Any]:
    end = total()
    yield assert_rank(limits, 1, message=message)
    yield assert_non_negative(limits[:1], message=message)
    yield assert_monotonic(limits, message)
    yield assert_equal(limits[-1:], end, message=message)


def _rowids_demands(rowids: Tensor, nrows: Tensor, values: TensorLike, message: str) -> Iterator[Any]:
    yield assert_rank(rowids, 1, message=message)
    yield assert_rank(nrows, 0, message=message)
    yield assert_equal(_count(rowids), _count(values), message=message)
    yield assert_monotonic(concat([[0], rowids], axis=0), message)
    yield assert_less(rowids[-1:], nrows, message=message)


class Constructors:
    """The factory methods of RaggedTensor."""

    @classmethod
    def from_value_rowids(
        cls, values: TensorLike, value_rowids: TensorLike, nrows: TensorLike | None = None, name: str | None = None, validate: bool = True
    ) -> Self:
        """A RaggedTensor of the row of each value.

        Args:
          values: Tensor or RaggedTensor [n, ...].
          value_rowids: int32 or int64 vector [n], rising.
          nrows: number of rows, by default the last row id plus 1.
          name: name scope.
          validate: whether the arguments are checked when it runs.

        Raises:
          TypeError, ValueError: arguments of a wrong kind or size.
        """
        _check_flag(validate)
        with name_scope(name, "RaggedFromValueRowIds", [values, value_rowids, nrows]):
            values, rowids = _operands(values, value_rowids, "value_rowids")
            values.shape[:1].assert_is_compatible_with(rowids.shape)
            known_ids = constant_value(rowids)
            least = None if known_ids is None else max(known_ids[-1:].tolist(), default=-1) + 1
            if nrows is None:
                nrows = reduce_max(concat([[-1], rowids[-1:]], axis=0)) + 1 if least is None else least
            nrows = convert_to_tensor(nrows, rowids.dtype, "nrows")
            nrows.shape.assert_has_rank(0)
            count = constant_value(nrows)
            if count is not None and count < 0:
                raise ValueError(f"Expected nrows >= 0; got {count}")
            if count is not None and least is not None and count < least:
                raise ValueError(f"Expected nrows >= value_rowids[-1] + 1; got nrows={count}, value_rowids[-1]={least - 1}")
            if validate:
                rowids = _demanded(values, rowids, "value_rowids", _rowids_demands, nrows, values)
            rows = expand_dims(arange(nrows + 1), 0)
            splits = raw.LowerBound(expand_dims(rowids, 0), rows, out_type=rowids.dtype)[0]
            if count is not None:
                splits.set_shape([int(count) + 1])
            return cls(values, splits, None, rowids, nrows, internal=True)

    @classmethod
    def from_row_splits(cls, values: object, row_splits: object, name: str | None = None, validate: bool = True) -> Self:
        """A RaggedTensor of the places where its rows begin, and the end of the last one: a vector [rows + 1] from 0 to n."""
        _check_flag(validate)
        if isinstance(row_splits, (list, tuple)) and not row_splits:
            raise ValueError("row_splits tensor may not be empty.")
        if isinstance(row_splits, TensorSpec):
            return cls(values, row_splits, internal=True)
        return cls._of_vector("Splits", values, row_splits, name, validate, _splits_demands, lambda splits, total: [splits])

    @classmethod
    def from_row_lengths(cls, values: object, row_lengths: object, name: str | None = None, validate: bool = True) -> Self:
        """A RaggedTensor of the lengths of its rows: a vector [rows] with the sum n."""

        def partitions(lengths: Tensor, total: Callable) -> list:
            return [lengths_to_splits(lengths), lengths]

        return cls._of_vector("Lengths", values, row_lengths, name, validate, _lengths_demands, partitions)

    @classmethod
    def from_row_starts(cls, values: object, row_starts: object, name: str | None = None, validate: bool = True) -> Self:
        """A RaggedTensor of the places where its rows begin: a rising vector [rows] from 0."""

        def partitions(starts: Tensor, total: Callable) -> list:
            return [concat([starts, [total()]], axis=0)]

        return cls._of_vector("Starts", values, row_starts, name, validate, _starts_demands, partitions)

    @classmethod
    def from_row_limits(cls, values: object, row_limits: object, name: str | None = None, validate: bool = True) -> Self:
        """A RaggedTensor of the places where its rows end: a rising vector [rows] up to n."""

        def partitions(limits: Tensor, total: Callable) -> list:
            return [concat([zeros([1], limits.dtype), limits], axis=0)]

        return cls._of_vector("Limits", values, row_limits, name, validate, _limits_demands, partitions)

    @classmethod
    def _of_vector(
        cls, kind: str, values: TensorLike, vector: TensorLike, name: str | None, validate: bool, demands: Callable, partitions: Callable
    ) -> Self:
        """A RaggedTensor of the splits (and lengths) that `partitions(vector, total)` gives."""
        _check_flag(validate)
        label = f"row_{kind.lower()}"
        with name_scope(name, f"RaggedFromRow{kind}", [values, vector]):
            values, vector = _operands(values, vector, label)
            total = functools.cache(lambda: _count(values, vector.dtype))
            checked = _demanded(values, vector, label, demands, total) if validate else vector
            return cls(values, *partitions(checked, total), internal=True)

    @classmethod
    def from_nested_value_rowids(
        cls, flat_values: object, nested_value_rowids: object, nested_nrows: object = None, name: str | None = None, validate: bool = True
    ) -> Any:
        """`from_value_rowids` for several ragged dimensions, outermost first."""
        _check_list(nested_value_rowids, "nested_value_rowids")
        _check_list(nested_nrows, "nested_nrows")
        return cls._nested(
            "ValueRowIds", cls.from_value_rowids, flat_values, nested_value_rowids, name, validate, nested_nrows
        )

    @classmethod
    def from_nested_row_splits(
        cls, flat_values: object, nested_row_splits: object, name: str | None = None, validate: bool = True
    ) -> Any:
        """`from_row_splits` for several ragged dimensions, outermost first."""
        _check_list(nested_row_splits, "nested_row_splits")
        return cls._nested("RowSplits", cls.from_row_splits, flat_values, nested_row_splits, name, validate)

    @classmethod
    def from_nested_row_lengths(
        cls, flat_values: object, nested_row_lengths: object, name: str | None = None, validate: bool = True
    ) -> Any:
        """`from_row_lengths` for several ragged dimensions, outermost first."""
        _check_list(nested_row_lengths, "nested_row_lengths")
        return cls._nested("Rowlengths", cls.from_row_lengths, flat_values, nested_row_lengths, name, validate)

    @staticmethod
    def _nested(
        kind: str, make: Callable, flat_values: Any, nested: Any, name: str | None, validate: bool, counts: Any = None
    ) -> Any:
        """`make` applied for each ragged dimension, innermost first, with a number of rows each where `counts` is given."""
        _check_flag(validate)
        if counts is not None and len(counts) != len(nested):
            raise ValueError("nested_nrows must have the same length as nested_value_rowids")
        arguments = list(zip(nested)) if counts is None else list(zip(nested, counts))
        with name_scope(name, f"RaggedFromNested{kind}", [flat_values, *nested, *(counts or ())]):
            return functools.reduce(lambda inner, a: make(inner, *a, validate=validate), reversed(arguments), flat_values)

    @classmethod
    def from_tensor(
        cls, tensor: TensorLike, lengths: TensorLike | None = None, padding: TensorLike | None = None, ragged_rank: int = 1, name: str | None = None,
        row_splits_dtype: object = dtypes.int64,
    ) -> Any:  # fmt: skip
        """A RaggedTensor of a Tensor.

        Args:
          tensor: Tensor of at least `ragged_rank` + 1 dimensions.
          lengths: how many elements of each row count: a vector, or a list of vectors, one per ragged dimension.
          padding: the value that rows are filled up with at their ends, in place of `lengths`.
          ragged_rank: number of ragged dimensions.
          name: name scope.
          row_splits_dtype: int32 or int64.

        Raises:
          TypeError, ValueError: arguments of a wrong kind, or both `lengths` and `padding`.
        """
        splits_dtype = dtypes.as_dtype(row_splits_dtype)
        if lengths is not None and padding is not None:
            raise ValueError("Specify lengths or padding, but not both")
        if not isinstance(ragged_rank, int):
            raise TypeError(f"ragged_rank expected int, got {ragged_rank!r}")
        if ragged_rank <= 0:
            raise ValueError(f"ragged_rank must be greater than 0; got {ragged_rank}")
        with name_scope(name, "RaggedFromTensor", [tensor, lengths, padding]):
            tensor = convert_to_tensor(tensor, name="tensor")
            tensor.shape.with_rank_at_least(ragged_rank + 1)
            values, nested_splits = dense.partitioned(cls, tensor, lengths, padding, ragged_rank, splits_dtype)
            return cls.from_nested_row_splits(values, nested_splits, validate=False)

    @classmethod
    def from_sparse(cls, st_input: object, name: str | None = None, row_splits_dtype: DTypeLike = dtypes.int64) -> Self:
        """A RaggedTensor of a sparse matrix whose rows are filled from the left.

        Raises:
          TypeError: `st_input` is not sparse. ValueError: it is no matrix.
          InvalidArgumentError: when it runs, a row has a gap.
        """
        splits_dtype = dtypes.as_dtype(row_splits_dtype)
        if not is_sparse(st_input):
            raise TypeError(f"Expected SparseTensor, got {type(st_input).__name__}")
        with name_scope(name, "RaggedFromSparse", [st_input]):
            st_input = convert_to_tensor_or_sparse_tensor(st_input, name="st_input")
            ranks = st_input.dense_shape.shape.with_rank(1).as_list()[0], st_input.indices.shape.with_rank(2).as_list()[1]
            if 2 not in ranks:
                raise ValueError("rank(st_input) must be 2")
            with control_dependencies(dense.assert_right_ragged(st_input.indices)):
                rowids = cast(st_input.indices[:, 0], splits_dtype)
                count = cast(st_input.dense_shape[0], splits_dtype)
                return cls.from_value_rowids(st_input.values, rowids, count, validate=False)

    @classmethod
    def _from_variant(
        cls, variant: TensorLike, dtype: DTypeLike, output_ragged_rank: int, input_ragged_rank: int | None = None, name: str | None = None
    ) -> Any:
        """The ragged tensors that a variant Tensor holds, as one."""
        variant = convert_to_tensor(variant, name="variant", dtype=dtypes.variant)
        ndims = variant.shape.ndims
        if None not in (ndims, input_ragged_rank) and output_ragged_rank != input_ragged_rank + ndims:
            raise ValueError(
                "output_ragged_rank must be equal to input_ragged_rank + variant.shape.ndims, found variant.shape.ndims: "
                f"{ndims}, input_ragged_rank: {input_ragged_rank}, output_ragged_rank: {output_ragged_rank}"
            )
        input_rank = -1 if input_ragged_rank is None else input_ragged_rank
        with name_scope(name, "RaggedFromVariant", [variant]):
            splits, values = raw.RaggedTensorFromVariant(variant, input_rank, output_ragged_rank, dtype, dtypes.int64, name=name)
            return cls.from_nested_row_splits(values, splits, validate=False)
