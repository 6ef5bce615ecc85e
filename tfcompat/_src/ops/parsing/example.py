"""ParseExample and ParseSingleExample: serialized Example messages into tensors."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, NotDifferentiable, op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.ops.parsing import alike, wire
from tfcompat._src.ops.sparse.parts import ragged_indices

NO_GRADIENT = NotDifferentiable("a serialized message has no derivative", raises=True)


def invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


@dataclass
class Dense:
    """A dense feature: its key, dtype, shape, and default (empty where the feature must be there)."""

    key: bytes
    dtype: np.dtype
    shape: tuple
    default: np.ndarray

    @property
    def is_variable(self) -> bool:
        """Whether the first dimension is as long as the example says."""
        return bool(self.shape) and self.shape[0] is None

    @property
    def stride(self) -> int:
        """Elements of the feature, or of one row of it where its length varies."""
        return math.prod(self.shape[1:] if self.is_variable else self.shape)


class Column(NamedTuple):
    """A feature of all examples: flat values, how many each example has, and the examples that have none."""

    values: np.ndarray
    counts: np.ndarray
    missing: list[int]


@dataclass
class Batch:
    """Serialized examples, their names for messages, and what stands before an error's text for example `index`."""

    texts: list[bytes]
    names: list[bytes]
    single: bool = False

    def where(self, index: int) -> str:
        name = self.names[index].decode("utf-8", "replace") if self.names else "<unknown>"
        return "" if self.single else f"Name: {name}, "

    def error(self, index: int, key: bytes, text: str) -> errors.InvalidArgumentError:
        place = "" if self.single else f", Index: {index}"
        return invalid(f"{self.where(index)}Key: {key.decode()}{place}.  {text}")

    def read(self, wanted: list[tuple[bytes, np.dtype]]) -> None:
        """Finds the features under the wanted keys, each with the dtype that it should have."""
        kinds = {key: wire.kind_of(dtype) for key, dtype in wanted}
        is_plain = all(kinds[key] == wire.kind_of(dtype) for key, dtype in wanted)
        self.columns = alike.read(self.texts, kinds) if is_plain else None
        if self.columns is None:
            self.features = self._read_one_by_one(kinds)

    def _read_one_by_one(self, keys: Iterable[bytes]) -> dict[bytes, list]:
        """The features under each key, one or None for each example."""
        wanted: dict[bytes, list] = {k: [None] * len(self.texts) for k in keys}
        for i, text in enumerate(self.texts):
            try:
                wire.read_example(text, wanted, i)
            except wire.Malformed:
                raise invalid(f"Could not parse example input, value: '{text.decode('utf-8', 'replace')}'") from None
        return wanted

    def decode(self, key: bytes, dtype: np.dtype, is_dense: bool) -> Column:
        """The column under a key; InvalidArgumentError for a list of another kind or a broken one."""
        if self.columns is not None and key in self.columns:
            return Column(*self.columns[key], [])
        features = [None] * len(self.texts) if self.columns is not None else self.features[key]
        kind = wire.kind_of(dtype)
        for i, feature in enumerate(features):
            if feature is not None and feature.kind != kind:
                have, want = wire.KIND_NAMES[feature.kind], wire.KIND_NAMES[kind]
                raise self.error(
                    i, key,
                    f"Data types don't match. Data type: {have} but expected type: {want}" if is_dense
                    else f"Data types don't match. Expected type: {want}, Actual type: {have}",
                )  # fmt: skip
        try:
            return Column(*wire.decode(features, kind), [i for i, f in enumerate(features) if f is None])
        except wire.Malformed:
            raise self.error(wire.first_broken(features, kind), key, "Can't parse serialized Example.") from None


def _fixed(batch: Batch, dense: Dense) -> np.ndarray:
    """[examples, *shape]: a dense feature of a fixed shape."""
    values, counts, missing = batch.decode(dense.key, dense.dtype, True)
    if missing and not dense.default.size:
        raise invalid(
            f"{batch.where(missing[0])}Feature: {dense.key.decode()} (data type: "
            f"{wire.KIND_NAMES[wire.kind_of(dense.dtype)]}) is required but could not be found."
        )
    stride = dense.stride
    is_wrong = counts != stride
    is_wrong[missing] = False
    if is_wrong.any():
        wrong = int(is_wrong.argmax())
        if batch.single:
            raise batch.error(wrong, dense.key, "Can't parse serialized Example.")
        name = {"f": "float", "i": "int64", "O": "bytes"}[np.dtype(dense.dtype).kind]
        raise batch.error(
            wrong, dense.key,
            f"Number of {name} values != expected.  Values size: {counts[wrong]} but output shape: {shape_text(dense.shape)}",
        )  # fmt: skip
    if not missing:
        return values.reshape(len(counts), *dense.shape)
    found = np.empty((len(counts), stride), dense.dtype)
    is_there = np.ones(len(counts), bool)
    is_there[missing] = False
    found[missing] = dense.default.reshape(-1)
    found[is_there] = values.reshape(-1, stride)
    return found.reshape(len(counts), *dense.shape)


def _variable(batch: Batch, dense: Dense) -> np.ndarray:
    """[examples, longest, *rest]: a dense feature of varying length, filled up with its default."""
    values, counts, _ = batch.decode(dense.key, dense.dtype, True)
    stride = dense.stride
    wrong = np.flatnonzero(counts % stride if stride else counts)
    if len(wrong):
        name = {"f": "float", "i": "int64", "O": "bytes"}[np.dtype(dense.dtype).kind]
        raise batch.error(
            int(wrong[0]), dense.key,
            "Can't parse serialized Example." if batch.single else
            f"Number of {name} values is not a multiple of stride length. Saw {counts[wrong[0]]} values but output shape is: "
            + shape_text(dense.shape),
        )  # fmt: skip
    if batch.single:
        return values.reshape(1, -1, *dense.shape[1:])
    longest = int(counts.max(initial=0))
    found = np.full((len(counts), longest), dense.default.reshape(-1)[0], dense.dtype)
    found[np.arange(longest) < counts[:, None]] = values
    return found.reshape(len(counts), longest // max(stride, 1), *dense.shape[1:])


def parse(batch: Batch, sparse: list[tuple[bytes, np.dtype]], dense: list[Dense]) -> tuple:
    """Values of sparse features (indices, values, shapes: a list each) and of dense features."""
    batch.read([*sparse, *((d.key, d.dtype) for d in dense)])
    indices, values, shapes = [], [], []
    for key, dtype in sparse:
        found, counts, _ = batch.decode(key, dtype, False)
        indices.append(ragged_indices(counts))
        values.append(found)
        shapes.append(np.array([len(counts), counts.max(initial=0)], np.int64))
    filled = [(_variable if d.is_variable else _fixed)(batch, d) for d in dense]
    return tuple(indices), tuple(values), tuple(shapes), tuple(filled)


def check_defaults(dense: list[Dense]) -> None:
    """InvalidArgumentError where a default does not go with its feature."""
    for i, d in enumerate(dense):
        if d.is_variable:
            if d.default.size != 1:
                raise invalid(
                    f"dense_shape[{i}] is a variable length shape: {shape_text(d.shape)}, therefore def_value[{i}] must "
                    f"contain a single element (the padding element).  But its shape is: {shape_text(d.default.shape)}"
                )
        elif d.default.size and d.default.shape != d.shape:
            raise invalid(f"def_value[{i}].shape() == {shape_text(d.default.shape)} is not compatible with dense_shapes_[{i}] == {shape_text(d.shape)}")


def dense_features(keys: Any, dtypes: Any, shapes: Any, defaults: Any) -> list[Dense]:
    return [Dense(k, np.dtype(t), s.sizes, np.asarray(v)) for k, t, s, v in zip(keys, dtypes, shapes, defaults)]


def check_counts(c: si.InferenceContext, *groups: tuple[str, ...]) -> None:
    """ValueError where the attributes of a group, which are numbers of keys or one entry for each key, do not agree."""
    for first, *others in groups:
        counts = [n if isinstance(n, int) else len(n) for n in (c.attr(name) for name in (first, *others))]
        for name, count in zip(others, counts[1:]):
            if count != counts[0]:
                raise ValueError(f"{first} and {name} must be of the same length, but are of {counts[0]} and {count}")


def check_shapes(shapes: Any, allow_variable: bool = True) -> None:
    """ValueError where a dense shape is not known but for a first dimension."""
    for i, shape in enumerate(shapes):
        if shape.sizes is None or None in (shape.sizes[1:] if allow_variable else shape.sizes):
            raise ValueError(f"dense_shapes[{i}] has unknown rank or unknown inner dimensions: {shape}")


def _example_shape(c):
    sizes = si.with_rank(c.inputs[0], 1)
    si.with_rank(c.inputs[1], 1)
    check_counts(c, ("Nsparse", "sparse_types"), ("Ndense", "Tdense", "dense_shapes"))
    check_shapes(c.attr("dense_shapes"))
    n = c.attr("Nsparse")
    return [(None, 2)] * n + [(None,)] * n + [(2,)] * n + [sizes + s.sizes for s in c.attr("dense_shapes")]


_TYPES = "sparse_types: list({float32, int64, string}) >= 0, Tdense: list({float32, int64, string}) >= 0, dense_shapes: list(shape) >= 0"
_OUTPUTS = "(sparse_indices: {0}*int64, sparse_values: sparse_types, sparse_shapes: {0}*int64, dense_values: Tdense)"


@op(
    "ParseExample",
    "(serialized: string, names: string, sparse_keys: Nsparse*string, dense_keys: Ndense*string, dense_defaults: Tdense, *, "
    f"Nsparse: int >= 0, Ndense: int >= 0, {_TYPES}) -> {_OUTPUTS.format('Nsparse')}",
    shape=_example_shape, gradient=NO_GRADIENT, side=HOST,
)  # fmt: skip
def _parse_example(serialized, names, sparse_keys, dense_keys, dense_defaults, *, sparse_types, Tdense, dense_shapes):
    if serialized.ndim != 1:
        raise invalid(f"Expected serialized to be a vector, got shape: {shape_text(serialized.shape)}")
    if len(names) and names.shape != serialized.shape:
        raise invalid(
            f"Expected len(names) == len(serialized), got {len(names)} vs. {len(serialized)}"
        )
    dense = dense_features([k.item() for k in dense_keys], Tdense, dense_shapes, dense_defaults)
    check_defaults(dense)
    sparse = [(k.item(), t) for k, t in zip(sparse_keys, sparse_types)]
    return parse(Batch(serialized.tolist(), names.tolist()), sparse, dense)


def _plain_single(text: bytes, dense: list[Dense]) -> tuple[np.ndarray, ...] | None:
    """The dense features of an example that has them all, of fixed shapes; None where it has not, or is broken."""
    wanted: dict[bytes, list] = {d.key: [None] for d in dense}
    found = []
    try:
        wire.read_example(text, wanted, 0)
        for d in dense:
            feature, kind = wanted[d.key][0], wire.kind_of(d.dtype)
            if feature is None or feature.kind != kind or d.is_variable:
                return None
            values, counts = wire.decode([feature], kind)
            if counts[0] != d.stride:
                return None
            found.append(values.reshape(d.shape))
    except wire.Malformed:
        return None
    return tuple(found)


def _single_shape(c):
    si.with_rank(c.inputs[0], 0)
    check_counts(c, ("num_sparse", "sparse_keys", "sparse_types"), ("dense_keys", "Tdense", "dense_shapes"))
    check_shapes(c.attr("dense_shapes"))
    n = c.attr("num_sparse")
    return [(None, 1)] * n + [(None,)] * n + [(1,)] * n + [s.sizes for s in c.attr("dense_shapes")]


@op(
    "ParseSingleExample",
    "(serialized: string, dense_defaults: Tdense, *, num_sparse: int >= 0, sparse_keys: list(string) >= 0, "
    f"dense_keys: list(string) >= 0, {_TYPES}) -> {_OUTPUTS.format('num_sparse')}",
    shape=_single_shape, gradient=NO_GRADIENT, side=HOST,
)  # fmt: skip
def _parse_single_example(serialized, dense_defaults, *, sparse_keys, dense_keys, sparse_types, Tdense, dense_shapes):
    if serialized.ndim:
        raise invalid(f"Expected serialized to be a scalar, got shape: {shape_text(serialized.shape)}")
    dense = dense_features([k.encode("latin-1") for k in dense_keys], Tdense, dense_shapes, dense_defaults)
    check_defaults(dense)
    plain = None if sparse_keys else _plain_single(serialized.item(), dense)
    if plain is not None:
        return (), (), (), plain
    sparse = [(k.encode("latin-1"), t) for k, t in zip(sparse_keys, sparse_types)]
    indices, values, shapes, filled = parse(Batch([serialized.item()], [], single=True), sparse, dense)
    return (
        tuple(i[:, 1:] for i in indices), values, tuple(s[1:] for s in shapes),
        tuple(v.reshape(v.shape[1:]) for v in filled),
    )  # fmt: skip
