"""Initializers that read a saved matrix whose rows or columns belong to words, which may stand elsewhere now."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.variables.initializers import TruncatedNormal, Zeros

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


def _load_and_remap_matrix(
    ckpt_path: TensorLike, old_tensor_name: str, new_row_vocab_offset: int, num_rows_to_load: int, new_col_vocab_size: int,
    initializer: Callable, old_row_vocab_size: int = -1, old_row_vocab_file: TensorLike | None = None, new_row_vocab_file: TensorLike | None = None,
    old_col_vocab_file: TensorLike | None = None, new_col_vocab_file: TensorLike | None = None, num_row_oov_buckets: int = 0, num_col_oov_buckets: int = 0,
    max_rows_in_memory: int = -1,
) -> Tensor:  # fmt: skip
    """A [num_rows_to_load + num_row_oov_buckets, new_col_vocab_size + num_col_oov_buckets] matrix from a checkpoint.

    Rows and columns of words that the old vocabulary lacks, and those for other words, come from `initializer`.

    Raises:
      ValueError: a count is negative, a vocabulary stands alone, or there is none.
    """
    for name, count in (("num_row_oov_buckets", num_row_oov_buckets), ("num_col_oov_buckets", num_col_oov_buckets)):
        if count < 0:
            raise ValueError(f"{name} must be >= 0, but received {count}")
    for kind, old, new in (
        ("row", old_row_vocab_file, new_row_vocab_file),
        ("col", old_col_vocab_file, new_col_vocab_file),
    ):
        if bool(old) != bool(new):
            raise ValueError(
                f"old_{kind}_vocab_file and new_{kind}_vocab_file must both be specified or left unspecified. "
                f"old_{kind}_vocab_file='{old}', new_{kind}_vocab_file='{new}'"
            )
    if not (new_row_vocab_file or new_col_vocab_file):
        raise ValueError(
            "Must provide either row or column vocab files. If no remapping is necessary, consider using "
            "`tf.contrib.framework.init_from_checkpoint` instead."
        )
    rows_present: Any = num_rows_to_load
    columns_present: Any = new_col_vocab_size
    col_remapping: Any = []
    if new_row_vocab_file:
        row_remapping, rows_present = raw.GenerateVocabRemapping(
            new_row_vocab_file, old_row_vocab_file, new_vocab_offset=new_row_vocab_offset, num_new_vocab=num_rows_to_load,
            old_vocab_size=old_row_vocab_size,
        )  # fmt: skip
    else:
        row_remapping = arange(new_row_vocab_offset, new_row_vocab_offset + num_rows_to_load, dtype=dtypes.int64)
    if new_col_vocab_file:
        col_remapping, columns_present = raw.GenerateVocabRemapping(
            new_col_vocab_file, old_col_vocab_file, new_vocab_offset=0, num_new_vocab=new_col_vocab_size
        )
    missing = num_rows_to_load * new_col_vocab_size - rows_present * columns_present
    found = raw.LoadAndRemapMatrix(
        ckpt_path, old_tensor_name, row_remapping, col_remapping, initializer([missing, 1]), num_rows=num_rows_to_load,
        num_cols=new_col_vocab_size, max_rows_in_memory=max_rows_in_memory,
    )  # fmt: skip
    if num_row_oov_buckets:
        found = concat([found, convert_to_tensor(initializer([num_row_oov_buckets, new_col_vocab_size]))], 0)
    if num_col_oov_buckets:
        rows = num_rows_to_load + num_row_oov_buckets
        found = concat([found, convert_to_tensor(initializer([rows, num_col_oov_buckets]))], 1)
    return found


@export("contrib.framework.load_and_remap_matrix_initializer")
def load_and_remap_matrix_initializer(
    ckpt_path: object, old_tensor_name: str, new_row_vocab_size: int, new_col_vocab_size: int, old_row_vocab_size: int = -1,
    old_row_vocab_file: TensorLike | None = None, new_row_vocab_file: TensorLike | None = None, old_col_vocab_file: TensorLike | None = None,
    new_col_vocab_file: TensorLike | None = None, num_row_oov_buckets: int = 0, num_col_oov_buckets: int = 0, initializer: Any = None,
    max_rows_in_memory: int = -1,
) -> Callable:  # fmt: skip
    """An initializer of matrices (and parts of them) that reads a saved one and moves its rows and columns.

    Args:
      ckpt_path: prefix of the checkpoint. old_tensor_name: name of the matrix in it.
      new_row_vocab_size, new_col_vocab_size: numbers of words now.
      old_row_vocab_size: how many of the old words are used; -1 for all.
      old_row_vocab_file, new_row_vocab_file: paths of the words of the rows then and now, one a line.
      old_col_vocab_file, new_col_vocab_file: the same for columns.
      num_row_oov_buckets, num_col_oov_buckets: further rows and columns for other words.
      initializer: gives the values that the old matrix lacks; by default zeros.
      max_rows_in_memory: accepted as in 1.15; a matrix is read whole.

    Raises:
      TypeError: `initializer` cannot be called.
    """
    initializer = Zeros() if initializer is None else initializer
    if not callable(initializer):
        raise TypeError(f"initializer must be callable, instead of being {initializer} of type {type(initializer)}.")

    def initialize(shape: Any, dtype: object = dtypes.float32, partition_info: Any = None) -> Tensor:
        _check_shape(shape, dtype, new_col_vocab_size, num_col_oov_buckets)
        offset = 0 if partition_info is None else partition_info.single_offset(shape)
        end = offset + shape[0]
        if end > new_row_vocab_size + num_row_oov_buckets:
            raise ValueError(
                f"Trying to initialize {shape[0]} additional rows after {offset} rows have already been initialized, which would "
                f"exceed expected total row count of new_row_vocab_size ({new_row_vocab_size}) + num_row_oov_buckets "
                f"({num_row_oov_buckets}) = {new_row_vocab_size + num_row_oov_buckets}."
            )
        further = min(shape[0], max(0, end - new_row_vocab_size))
        if offset > new_row_vocab_size:
            return initializer(shape)
        return _load_and_remap_matrix(
            ckpt_path, old_tensor_name, offset, shape[0] - further, new_col_vocab_size, initializer, old_row_vocab_size,
            old_row_vocab_file, new_row_vocab_file, old_col_vocab_file, new_col_vocab_file, further, num_col_oov_buckets,
            max_rows_in_memory,
        )  # fmt: skip

    return initialize


def _check_shape(shape: Any, dtype: object, columns: int, further_columns: int) -> None:
    if dtype != dtypes.float32:
        raise TypeError(f"Currently, only float32 is supported. Received dtype: {dtype}")
    if len(shape) != 2:
        raise ValueError(f"Expected 2-dim shape, but received: {shape}")
    if shape[0] <= 0:
        raise ValueError(f"Expected 1st dim of shape to be > 0, but received shape: {shape}")
    if shape[1] != columns + further_columns:
        raise ValueError(
            f"Expected 2nd dim of shape to be new_col_vocab_size ({columns}) + num_col_oov_buckets ({further_columns}) = "
            f"{columns + further_columns}, but received shape: {shape}"
        )


@export("contrib.framework.load_embedding_initializer")
def load_embedding_initializer(
    ckpt_path: TensorLike, embedding_tensor_name: str, new_vocab_size: int, embedding_dim: int, old_vocab_file: TensorLike,
    new_vocab_file: TensorLike, old_vocab_size: int = -1, num_oov_buckets: int = 0, initializer: object = None,
    max_rows_in_memory: int = -1,
) -> Callable:  # fmt: skip
    """An initializer of [new_vocab_size + num_oov_buckets, embedding_dim] that reads a saved embedding; values that it lacks
    are normal, with standard deviation 1 / sqrt(embedding_dim). See `load_and_remap_matrix_initializer`."""
    initializer = TruncatedNormal(stddev=1.0 / math.sqrt(embedding_dim)) if initializer is None else initializer
    return load_and_remap_matrix_initializer(
        ckpt_path, embedding_tensor_name, new_vocab_size, embedding_dim, old_vocab_size, old_vocab_file, new_vocab_file,
        num_row_oov_buckets=num_oov_buckets, initializer=initializer, max_rows_in_memory=max_rows_in_memory,
    )  # fmt: skip


@export("contrib.framework.load_linear_multiclass_bias_initializer")
def load_linear_multiclass_bias_initializer(
    ckpt_path: TensorLike, bias_tensor_name: str, new_class_vocab_size: int, old_class_vocab_file: TensorLike, new_class_vocab_file: TensorLike,
    num_class_oov_buckets: int = 0, initializer: object = None, max_rows_in_memory: int = -1,
) -> Callable:  # fmt: skip
    """An initializer of a [classes, 1] bias that reads a saved one. See `load_and_remap_matrix_initializer`."""
    return load_and_remap_matrix_initializer(
        ckpt_path, bias_tensor_name, new_class_vocab_size, 1, old_row_vocab_file=old_class_vocab_file,
        new_row_vocab_file=new_class_vocab_file, num_row_oov_buckets=num_class_oov_buckets, initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )  # fmt: skip


@export("contrib.framework.load_variable_slot_initializer")
def load_variable_slot_initializer(
    ckpt_path: TensorLike, old_tensor_name: str, primary_partition_info: object, new_row_vocab_size: int, new_col_vocab_size: int,
    old_row_vocab_file: TensorLike | None = None, new_row_vocab_file: TensorLike | None = None, old_col_vocab_file: TensorLike | None = None,
    new_col_vocab_file: TensorLike | None = None, num_row_oov_buckets: int = 0, num_col_oov_buckets: int = 0, initializer: object = None,
    max_rows_in_memory: int = -1,
) -> Callable:  # fmt: skip
    """`load_and_remap_matrix_initializer` for a slot of a variable whose part is `primary_partition_info`."""
    initialize = load_and_remap_matrix_initializer(
        ckpt_path, old_tensor_name, new_row_vocab_size, new_col_vocab_size, -1, old_row_vocab_file, new_row_vocab_file,
        old_col_vocab_file, new_col_vocab_file, num_row_oov_buckets, num_col_oov_buckets, initializer, max_rows_in_memory,
    )  # fmt: skip
    return lambda shape, dtype=dtypes.float32, partition_info=None: initialize(shape, dtype, primary_partition_info)
