"""The ways to make a ragged tensor: of row splits, lengths, starts, limits or row ids, of dense, sparse and variant tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.framework import dtypes, raw
from tfcompat._src.framework.constant_value import constant_value
from tfcompat._src.framework.convert import convert_to_tensor
from tfcompat._src.framework.scopes import control_dependencies, name_scope
from tfcompat._src.framework.sparse_tensor import convert_to_tensor_or_sparse_tensor, is_sparse
from tfcompat._src.framework.tensor import Tensor
from tfcompat._src.framework.tensor_spec import TensorSpec
from tfcompat._src.ops.array.fill import zeros
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import shape
from tfcompat._src.ops.composed.check_ops import assert_equal, assert_less, assert_less_equal, assert_non_negative
from tfcompat._src.ops.composed.rank_checks import assert_rank, assert_rank_at_least
from tfcompat._src.ops.control.groups import with_dependencies
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.histogram import bincount
from tfcompat._src.ops.math.reduce import reduce_sum
from tfcompat._src.ops.ragged import dense
from tfcompat._src.ops.ragged.partition import SPLIT_TYPES, assert_monotonic, assert_zero, lengths_to_splits


def _check_flag(validate: Any) -> None:
    if not isinstance(validate, bool):
        raise TypeError("validate must have type bool")


def _check_list(value: Any, name: str) -> None:
    if isinstance(value, Tensor):
        raise TypeError(f"{name} must be a list of Tensors")


def _count(values: Any, out_type: Any = dtypes.int32) -> Tensor:
    """The number of rows of a Tensor or RaggedTensor."""
    return values.nrows(out_type=out_type) if isinstance(values, Constructors) else shape(values, out_type=out_type)[0]


class Constructors:
    """The factory methods of RaggedTensor."""

    @classmethod
    def _parts(cls, values: Any, partition: Any, name: str) -> tuple[Any, Tensor]:
        """Values and partition as tensors of types that fit."""
        if isinstance(values, Constructors):
            if not isinstance(partition, Tensor):
                return values, convert_to_tensor(partition, values.row_splits.dtype, name=name)
            if partition.dtype not in SPLIT_TYPES:
                raise ValueError(f"{name} must have dtype int32 or int64")
            if partition.dtype != values.row_splits.dtype:
                raise ValueError(f"dtype mismatch: {name} ({partition.dtype}) vs values.row_splits ({values.row_splits.dtype})")
            return values, partition
        values = convert_to_tensor(values, name="values")
        is_int32 = isinstance(partition, np.ndarray) and partition.dtype == np.int32
        partition = convert_to_tensor(partition, preferred_dtype=None if is_int32 else dtypes.int64, name=name)
        if partition.dtype not in SPLIT_TYPES:
            raise ValueError(f"{name} must have dtype int32 or int64")
        return values, partition

    @classmethod
    def _checked(cls, values: Any, partition: Tensor, source: str, validate: bool, checks: Callable) -> Tensor:
        """The partition, given after the checks `checks(message)` where asked for."""
        partition.shape.assert_has_rank(1)
        if not validate:
            return partition
        found = checks(f"Arguments to {source} do not form a valid RaggedTensor")
        if not isinstance(values, Constructors):
            found.append(assert_rank_at_least(values, 1))
        return with_dependencies(found, partition)

    @classmethod
    def from_value_rowids(
        cls, values: Any, value_rowids: Any, nrows: Any = None, name: str | None = None, validate: bool = True
    ) -> Any:
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
            values, rowids = cls._parts(values, value_rowids, "value_rowids")
            known_ids = constant_value(rowids)
            if nrows is None and known_ids is None:
                nrows = concat([rowids[-1:], [-1]], axis=0)[0] + 1
            elif nrows is None:
                nrows = convert_to_tensor(int(known_ids[-1]) + 1 if known_ids.size else 0, rowids.dtype, name="nrows")
            else:
                nrows = convert_to_tensor(nrows, rowids.dtype, "nrows")
            count = constant_value(nrows)
            if count is not None and count < 0:
                raise ValueError(f"Expected nrows >= 0; got {count}")
            if count is not None and known_ids is not None and known_ids.size and count <= known_ids[-1]:
                raise ValueError(f"Expected nrows >= value_rowids[-1] + 1; got nrows={count}, value_rowids[-1]={known_ids[-1]}")
            rowids.shape.assert_has_rank(1)
            nrows.shape.assert_has_rank(0)
            values.shape[:1].assert_is_compatible_with(rowids.shape)

            def checks(message: str) -> list:
                totals = _count(values), _count(rowids)
                return [
                    assert_rank(rowids, 1, message=message),
                    assert_rank(nrows, 0, message=message),
                    assert_equal(*totals, message=message),
                    assert_non_negative(rowids[:1], message=message),
                    assert_monotonic(rowids, message),
                    assert_less(rowids[-1:], nrows, message=message),
                ]

            rowids = cls._checked(values, rowids, "from_value_rowids", validate, checks)
            size = cast(nrows, dtypes.int32)
            lengths = bincount(cast(rowids, dtypes.int32), minlength=size, maxlength=size, dtype=rowids.dtype)
            splits = lengths_to_splits(lengths)
            if count is not None:
                lengths.set_shape([int(count)])
                splits.set_shape([int(count) + 1])
            return cls(values, splits, lengths, rowids, nrows, internal=True)

    @classmethod
    def from_row_splits(cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True) -> Any:
        """A RaggedTensor of the places where its rows begin, and the end of the last one: a vector [rows + 1] from 0 to n."""
        _check_flag(validate)
        if isinstance(row_splits, (list, tuple)) and not row_splits:
            raise ValueError("row_splits tensor may not be empty.")
        if isinstance(row_splits, TensorSpec):
            return cls(values, row_splits, internal=True)
        with name_scope(name, "RaggedFromRowSplits", [values, row_splits]):
            values, splits = cls._parts(values, row_splits, "row_splits")

            def checks(message: str) -> list:
                end = _count(values, splits.dtype)
                return [
                    assert_rank(splits, 1, message=message),
                    assert_zero(splits[0], message),
                    assert_monotonic(splits, message),
                    assert_equal(splits[-1], end, message=message),
                ]

            splits = cls._checked(values, splits, "from_row_splits", validate, checks)
            return cls(values, splits, internal=True)

    @classmethod
    def from_row_lengths(cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True) -> Any:
        """A RaggedTensor of the lengths of its rows: a vector [rows] with the sum n."""
        _check_flag(validate)
        with name_scope(name, "RaggedFromRowLengths", [values, row_lengths]):
            values, lengths = cls._parts(values, row_lengths, "row_lengths")

            def checks(message: str) -> list:
                totals = reduce_sum(lengths), _count(values, lengths.dtype)
                return [
                    assert_rank(lengths, 1, message=message),
                    assert_non_negative(lengths, message=message),
                    assert_equal(*totals, message=message),
                ]

            lengths = cls._checked(values, lengths, "from_row_lengths", validate, checks)
            return cls(values, lengths_to_splits(lengths), lengths, internal=True)

    @classmethod
    def from_row_starts(cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True) -> Any:
        """A RaggedTensor of the places where its rows begin: a rising vector [rows] from 0."""
        _check_flag(validate)
        with name_scope(name, "RaggedFromRowStarts", [values, row_starts]):
            values, starts = cls._parts(values, row_starts, "row_starts")
            end = _count(values, starts.dtype)

            def checks(message: str) -> list:
                return [
                    assert_rank(starts, 1, message=message),
                    assert_zero(starts[:1], message),
                    assert_monotonic(starts, message),
                    assert_less_equal(starts[-1:], end, message=message),
                ]

            starts = cls._checked(values, starts, "from_row_starts", validate, checks)
            return cls(values, concat([starts, [end]], axis=0), internal=True)

    @classmethod
    def from_row_limits(cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True) -> Any:
        """A RaggedTensor of the places where its rows end: a rising vector [rows] up to n."""
        _check_flag(validate)
        with name_scope(name, "RaggedFromRowLimits", [values, row_limits]):
            values, limits = cls._parts(values, row_limits, "row_limits")

            def checks(message: str) -> list:
                end = _count(values, limits.dtype)
                return [
                    assert_rank(limits, 1, message=message),
                    assert_non_negative(limits[:1], message=message),
                    assert_monotonic(limits, message),
                    assert_equal(limits[-1:], end, message=message),
                ]

            limits = cls._checked(values, limits, "from_row_limits", validate, checks)
            return cls(values, concat([zeros([1], limits.dtype), limits], axis=0), internal=True)

    @classmethod
    def _nested(cls, make: Callable, flat_values: Any, partitions: list, scope: tuple) -> Any:
        name, default, inputs = scope
        with name_scope(name, default, inputs):
            result = flat_values
            for partition in reversed(partitions):
                result = make(result, partition)
            return result

    @classmethod
    def from_nested_value_rowids(
        cls, flat_values: Any, nested_value_rowids: Any, nested_nrows: Any = None, name: str | None = None, validate: bool = True
    ) -> Any:
        """`from_value_rowids` for several ragged dimensions, outermost first."""
        _check_flag(validate)
        _check_list(nested_value_rowids, "nested_value_rowids")
        _check_list(nested_nrows, "nested_nrows")
        if nested_nrows is None:
            nested_nrows = [None] * len(nested_value_rowids)
        if len(nested_nrows) != len(nested_value_rowids):
            raise ValueError("nested_nrows must have the same length as nested_value_rowids")
        scope = (name, "RaggedFromNestedValueRowIds", [flat_values, *nested_value_rowids, *nested_nrows])
        pairs = list(zip(nested_value_rowids, nested_nrows))
        return cls._nested(lambda v, p: cls.from_value_rowids(v, *p, validate=validate), flat_values, pairs, scope)

    @classmethod
    def from_nested_row_splits(
        cls, flat_values: Any, nested_row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """`from_row_splits` for several ragged dimensions, outermost first."""
        _check_flag(validate)
        _check_list(nested_row_splits, "nested_row_splits")
        scope = (name, "RaggedFromNestedRowSplits", [flat_values, *nested_row_splits])
        return cls._nested(
            lambda v, p: cls.from_row_splits(v, p, validate=validate), flat_values, list(nested_row_splits), scope
        )

    @classmethod
    def from_nested_row_lengths(
        cls, flat_values: Any, nested_row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """`from_row_lengths` for several ragged dimensions, outermost first."""
        _check_flag(validate)
        _check_list(nested_row_lengths, "nested_row_lengths")
        scope = (name, "RaggedFromNestedRowlengths", [flat_values, *nested_row_lengths])
        return cls._nested(
            lambda v, p: cls.from_row_lengths(v, p, validate=validate), flat_values, list(nested_row_lengths), scope
        )

    @classmethod
    def from_tensor(
        cls, tensor: Any, lengths: Any = None, padding: Any = None, ragged_rank: int = 1, name: str | None = None,
        row_splits_dtype: Any = dtypes.int64,
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
    def from_sparse(cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = dtypes.int64) -> Any:
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
        cls, variant: Any, dtype: Any, output_ragged_rank: int, input_ragged_rank: int | None = None, name: str | None = None
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
