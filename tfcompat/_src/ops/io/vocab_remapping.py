"""Ops that read a saved matrix whose rows or columns belong to words: GenerateVocabRemapping, LoadAndRemapMatrix."""

from __future__ import annotations

import functools

import numpy as np

from tfcompat._src.base import dtypes, errors
from tfcompat._src.checkpoint.reader import open_checkpoint
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.platform import file_io

_add = functools.partial(op, gradient=NotDifferentiable("files have no gradient"), side=HOST, context=True, depth=2)


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def _words(path: np.ndarray) -> list[bytes]:
    return file_io.read_file_to_string(path.item(), binary_mode=True).splitlines()


def _remapping_shape(c: si.InferenceContext) -> list:
    for sizes in c.inputs:
        si.with_rank(sizes, 0)
    return [(c.attr("num_new_vocab"),), ()]


def _generate_remapping(context, new_vocab_file, old_vocab_file, *, new_vocab_offset, num_new_vocab, old_vocab_size):
    old_words = _words(old_vocab_file)
    old_ids = {word: i for i, word in enumerate(old_words[:old_vocab_size] if old_vocab_size >= 0 else old_words)}
    new_words = _words(new_vocab_file)[new_vocab_offset : new_vocab_offset + num_new_vocab]
    found = np.full(num_new_vocab, -1, np.int64)
    found[: len(new_words)] = [old_ids.get(word, -1) for word in new_words]
    return found, np.int32(np.count_nonzero(found >= 0))


_add("GenerateVocabRemapping", "(new_vocab_file: string, old_vocab_file: string, *, new_vocab_offset: int >= 0, "
     "num_new_vocab: int >= 0, old_vocab_size: int >= -1 = -1) -> (remapping: int64, num_present: int32)",
     shape=_remapping_shape, kernel=_generate_remapping)  # fmt: skip


def _check_unique(remapping: np.ndarray) -> None:
    """Raises UnimplementedError where one old row or column belongs to two new ones."""
    ids, counts = np.unique(remapping[remapping >= 0], return_counts=True)
    if (counts > 1).any():
        old = ids[counts > 1][0]
        places = np.flatnonzero(remapping == old)
        raise errors.UnimplementedError(
            None, None, f"Old ID {old} is mapped to both new ID {places[0]} and {places[1]}, which is not supported."
        )


def _load_and_remap(
    context, ckpt_path, old_tensor_name, row_remapping, col_remapping, initializing_values, *, num_rows, num_cols
):  # fmt: skip
    if row_remapping.size != num_rows:
        raise _invalid(f"Size of row_remapping is {row_remapping.size} instead of being equal to num_rows={num_rows}")
    if col_remapping.size not in (0, num_cols):
        raise _invalid(
            f"Provided col_remapping, but its size is {col_remapping.size} instead of being equal to num_cols={num_cols}"
        )
    for remapping in (row_remapping, col_remapping):
        _check_unique(remapping)
    old = _matrix(ckpt_path.item().decode(), old_tensor_name.item().decode())
    if not col_remapping.size and old.shape[1] != num_cols:
        raise _invalid(
            f"Tensor {old_tensor_name.item().decode()} has shape {shape_text(old.shape)}, where the size of its 2nd dimension is "
            f"{old.shape[1]} instead of being equal to num_cols={num_cols}"
        )
    columns = col_remapping if col_remapping.size else np.arange(num_cols)
    found = np.empty((num_rows, num_cols), np.float32)
    known = np.outer(row_remapping >= 0, columns >= 0)
    rows = np.flatnonzero(row_remapping >= 0)
    kept = np.flatnonzero(columns >= 0)
    found[np.ix_(rows, kept)] = old[np.ix_(row_remapping[rows], columns[kept])]
    missing, given = int(np.count_nonzero(~known)), initializing_values.reshape(-1)
    if given.size < missing:
        raise _invalid(f"initializing_values contained {given.size} elements, but more missing values remain.")
    if given.size > missing:
        raise _invalid(
            f"initializing_values contained {given.size} elements, but only {missing} elements were used to fill in missing values."
        )
    found[~known] = given
    return found


def _matrix(path: str, name: str) -> np.ndarray:
    saved = open_checkpoint(path)
    info = saved.require(name)
    if info.dtype != dtypes.float32:
        raise _invalid(f"Tensor {name} has invalid type {info.dtype.name} instead of expected type float")
    if len(info.shape) != 2:
        raise _invalid(
            f"Tensor {name} has shape {shape_text(info.shape)} of invalid rank {len(info.shape)} instead of expected shape of rank 2."
        )
    return saved.read(name)


def _matrix_shape(c: si.InferenceContext) -> list:
    si.with_rank(c.inputs[1], 0)
    return [(c.attr("num_rows"), c.attr("num_cols"))]


_add("LoadAndRemapMatrix", "(ckpt_path: string, old_tensor_name: string, row_remapping: int64, col_remapping: int64, "
     "initializing_values: float32, *, num_rows: int >= 0, num_cols: int >= 1, max_rows_in_memory: int = -1) "
     "-> (output_matrix: float32)", shape=_matrix_shape, kernel=_load_and_remap, effects=EXTERNAL)  # fmt: skip
