"""Ops that write and read checkpoints: Save, SaveSlices, SaveV2, Restore, RestoreSlice, RestoreV2, MergeV2Checkpoints."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tfcompat._src.base import checks, dtypes, errors
from tfcompat._src.checkpoint import bundle_writer, slices
from tfcompat._src.checkpoint.reader import open_checkpoint
from tfcompat._src.checkpoint.reading import SavedTensors
from tfcompat._src.checkpoint.v1_reader import V1Reader
from tfcompat._src.checkpoint.v1_writer import V1Writer
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, Facts, NotDifferentiable, op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.platform.temporary_files import uninterrupted

_add = functools.partial(op, gradient=NotDifferentiable("files have no gradient", raises=True), side=HOST, depth=2)


def _invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


# ---- shapes ----


def _with_ranks(*ranks: int) -> Any:
    """A shape function for ops without outputs whose first inputs have these ranks."""

    def shape(c: si.InferenceContext) -> list:
        for sizes, rank in zip(c.inputs, ranks):
            si.with_rank(sizes, rank)
        return []

    return shape


def _save_v2_shape(c: si.InferenceContext) -> list:
    si.with_rank(c.inputs[0], 0)
    count = len(c.attr("dtypes"))
    for sizes in c.inputs[1:3]:
        si.merge(si.with_rank(sizes, 1), (count,))
    return []


def _save_slices_shape(c: si.InferenceContext) -> list:
    si.with_rank(c.inputs[0], 0)
    for sizes in c.inputs[1:3]:
        si.merge(si.with_rank(sizes, 1), (len(c.attr("T")),))
    return []


def _save_shape(c: si.InferenceContext) -> list:
    si.with_rank(c.inputs[0], 0)
    si.merge(si.with_rank(c.inputs[1], 1), (len(c.attr("T")),))
    return []


def _restored_sizes(spec: bytes) -> tuple | None:
    if not spec:
        return None
    try:
        shape, part = slices.parse_spec(spec.decode())
    except errors.InvalidArgumentError as e:
        raise ValueError(e.message) from None
    return part.sizes(shape)


def _restore_v2_shape(c: si.InferenceContext) -> list:
    si.with_rank(c.inputs[0], 0)
    si.merge(si.with_rank(c.inputs[1], 1), si.with_rank(c.inputs[2], 1))
    count = len(c.attr("dtypes"))
    specs = c.value(2)
    if specs is None:
        return [None] * count
    if len(specs) != count:
        raise ValueError(f"Expected {count} elements in shape_and_slices, got {len(specs)}")
    return [_restored_sizes(spec) for spec in specs]


def _restore_shape(c: si.InferenceContext) -> list:
    for sizes in c.inputs[:2]:
        si.with_rank(sizes, 0)
    return [None]


def _restore_slice_shape(c: si.InferenceContext) -> list:
    for sizes in c.inputs:
        si.with_rank(sizes, 0)
    spec = c.value(2)
    return [None if spec is None else _restored_sizes(spec.item())]


# ---- saving ----


def _text(value: np.ndarray, what: str) -> str:
    """The one string in a tensor."""
    if value.size != 1:
        raise _invalid(f"{what} should have a single element, got {value.size} instead.")
    return value.reshape(()).item().decode()


def _check_specs(names: np.ndarray, specs: np.ndarray, count: int) -> None:
    if names.ndim != 1 or specs.ndim != 1:
        raise _invalid(
            "Input tensor_names and shape_and_slices should be an 1-D tensors, got "
            f"{shape_text(names.shape)} and {shape_text(specs.shape)} instead."
        )
    if names.size != specs.size:
        raise _invalid(
            f"tensor_names and shape_and_slices have different number of elements: {names.size} vs. {specs.size}"
        )
    if names.size != count:
        raise _invalid(f"Got {names.size} tensor names but {count} tensors.")


def _add_all(writer: Any, names: np.ndarray, specs: np.ndarray, tensors: tuple, types: tuple) -> None:
    for name, spec, tensor, dtype in zip(names.tolist(), specs.tolist(), tensors, types):
        array = np.asarray(tensor)
        if not spec:
            writer.add(name.decode(), array, dtypes.as_dtype(dtype))
            continue
        shape, part = slices.parse_spec(spec.decode())
        if part.sizes(shape) != array.shape:
            raise _invalid(
                "Slice in shape_and_slice specification does not match the shape of the tensor to  save: "
                f"{spec.decode()}, tensor: {shape_text(array.shape)}"
            )
        writer.add_slice(name.decode(), shape, part, array, dtypes.as_dtype(dtype))


@uninterrupted
def _save_v2(prefix, tensor_names, shape_and_slices, tensors, *, dtypes):
    _check_specs(tensor_names, shape_and_slices, len(tensors))
    with bundle_writer.writing(_text(prefix, "Input prefix")) as writer:
        _add_all(writer, tensor_names, shape_and_slices, tensors, dtypes)
    return ()


@uninterrupted
def _save_slices(filename, tensor_names, shapes_and_slices, data, *, T):
    _check_specs(tensor_names, shapes_and_slices, len(data))
    writer = V1Writer(_text(filename, "Input 0 (filename)"))
    _add_all(writer, tensor_names, shapes_and_slices, data, T)
    writer.finish()
    return ()


def _save(filename, tensor_names, data, *, T):
    return _save_slices(filename, tensor_names, np.full(tensor_names.shape, b"", object), data, T=T)


@uninterrupted
def _merge(checkpoint_prefixes, destination_prefix, *, delete_old_dirs):
    prefixes = [p.decode() for p in checkpoint_prefixes.tolist()]
    bundle_writer.merge(prefixes, _text(destination_prefix, "Input destination_prefix"), delete_old_dirs)
    return ()


_add("SaveV2", "(prefix: string, tensor_names: string, shape_and_slices: string, tensors: dtypes, *, dtypes: list(type) >= 1) "
     "-> ()", shape=_save_v2_shape, kernel=_save_v2, effects=EXTERNAL)  # fmt: skip
_add("SaveSlices", "(filename: string, tensor_names: string, shapes_and_slices: string, data: T, *, T: list(type) >= 1) -> ()",
     shape=_save_slices_shape, kernel=_save_slices, effects=EXTERNAL)  # fmt: skip
_add("Save", "(filename: string, tensor_names: string, data: T, *, T: list(type) >= 1) -> ()", shape=_save_shape,
     kernel=_save, effects=EXTERNAL)  # fmt: skip
_add("MergeV2Checkpoints", "(checkpoint_prefixes: string, destination_prefix: string, *, delete_old_dirs: bool = True) -> ()",
     shape=_with_ranks(1, 0), kernel=_merge, effects=EXTERNAL)  # fmt: skip


# ---- restoring ----


def _restored(saved: SavedTensors, name: str, spec: str) -> np.ndarray:
    """A tensor or a part of one, as an array that nothing will change."""
    part = None
    if spec:
        shape, part = slices.parse_spec(spec)
        stored = saved.require(name).shape
        if stored != shape:
            raise _invalid(
                f"tensor_name = {name}; shape in shape_and_slice spec {shape_text(shape)} does not match the shape stored in "
                f"checkpoint: {shape_text(stored)}"
            )
    found = saved.read(name, part)
    found.flags.writeable = False
    return found


def _check_types(saved: SavedTensors, names: list[str], types: tuple) -> None:
    wrong = []
    for name, dtype in zip(names, types):
        expected, original = dtypes.as_dtype(dtype), saved.require(name).dtype
        if expected != original:
            wrong.append(
                f"tensor_name = {name}; expected dtype {dtypes.cpp_name(expected.name)} does not equal original dtype {dtypes.cpp_name(original.name)}"
            )
    if wrong:
        raise _invalid("\n".join(wrong))


def _restore_v2(prefix, tensor_names, shape_and_slices, *, dtypes):
    if tensor_names.size != len(dtypes):
        raise _invalid(f"Got {tensor_names.size} tensor names, but {len(dtypes)} expected dtypes.")
    _check_specs(tensor_names, shape_and_slices, len(dtypes))
    saved = open_checkpoint(_text(prefix, "Input prefix"))
    names = [name.decode() for name in tensor_names.tolist()]
    _check_types(saved, names, dtypes)
    return (tuple(_restored(saved, n, s.decode()) for n, s in zip(names, shape_and_slices.tolist())),)


def _restore_slice(file_pattern, tensor_name, shape_and_slice, *, dt):
    pattern, name = _text(file_pattern, "Input 0 (file_pattern)"), _text(tensor_name, "Input 1 (tensor_name)")
    saved = V1Reader(pattern)
    stored = saved.require(name).dtype
    if stored != dtypes.as_dtype(dt):
        raise _invalid(
            f"Expected to restore a tensor of type {dtypes.cpp_name(dtypes.as_dtype(dt).name)}, got a tensor of type {dtypes.cpp_name(stored.name)} "
            f"instead: tensor_name = {name}"
        )
    return _restored(saved, name, _text(shape_and_slice, "Input 2 (shape_and_slice)"))


def _restore(file_pattern, tensor_name, *, dt):
    return _restore_slice(file_pattern, tensor_name, np.array(b"", object), dt=dt)


_add("RestoreV2", "(prefix: string, tensor_names: string, shape_and_slices: string, *, dtypes: list(type) >= 1) "
     "-> (tensors: dtypes)", shape=_restore_v2_shape, kernel=_restore_v2, effects=EXTERNAL, facts=Facts(reads_files=True))  # fmt: skip
_add("Restore", "(file_pattern: string, tensor_name: string, *, dt: type, preferred_shard: int = -1) -> (tensor: dt)",
     shape=_restore_shape, kernel=_restore, effects=EXTERNAL)  # fmt: skip
_add("RestoreSlice", "(file_pattern: string, tensor_name: string, shape_and_slice: string, *, dt: type, "
     "preferred_shard: int = -1) -> (tensor: dt)", shape=_restore_slice_shape, kernel=_restore_slice,
     effects=EXTERNAL)  # fmt: skip


# ---- names of shards ----


def _sharded_filename(basename, shard, num_shards):
    for name, value in (("basename", basename), ("shard", shard), ("num_shards", num_shards)):
        checks.scalar(name, value)
    return np.array(b"%b-%05d-of-%05d" % (basename.item(), int(shard), int(num_shards)), object)


def _sharded_filespec(basename, num_shards):
    for name, value in (("basename", basename), ("num_shards", num_shards)):
        checks.scalar(name, value)
    return np.array(b"%b-?????-of-%05d" % (basename.item(), int(num_shards)), object)


def _scalars_to_scalar(c: si.InferenceContext) -> list:
    for sizes in c.inputs:
        si.with_rank(sizes, 0)
    return [()]


_add("ShardedFilename", "(basename: string, shard: int32, num_shards: int32) -> (filename: string)",
     shape=_scalars_to_scalar, kernel=_sharded_filename)  # fmt: skip
_add("ShardedFilespec", "(basename: string, num_shards: int32) -> (filename: string)", shape=_scalars_to_scalar,
     kernel=_sharded_filespec)  # fmt: skip
