"""ParseSequenceExample and ParseSingleSequenceExample: serialized SequenceExample messages into tensors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tfcompat._src.base import checks
from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import HOST, op
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.ops.parsing import wire
from tfcompat._src.ops.parsing.example import NO_GRADIENT, Dense, check_counts, check_shapes, dense_features, invalid
from tfcompat._src.ops.sparse.parts import ragged_indices

_LABELS = {"f": "float", "i": "int64", "O": "bytes"}


@dataclass
class Wanted:
    """What an op asks for: features of the context and of the feature lists."""

    context_sparse: list[tuple[bytes, np.dtype]]
    context_dense: list[Dense]
    list_sparse: list[tuple[bytes, np.dtype]]
    list_dense: list[Dense]
    may_miss: set[bytes]

    def read(self, text: bytes, error: str) -> tuple[dict, dict]:
        context = {k for k, _ in self.context_sparse} | {d.key for d in self.context_dense}
        lists = {k for k, _ in self.list_sparse} | {d.key for d in self.list_dense}
        try:
            return wire.read_sequence_example(text, context, lists)
        except wire.Malformed:
            raise invalid(error) from None


def _values(features: list, dtype: np.dtype, error: Callable[[int], str]) -> tuple[np.ndarray, np.ndarray]:
    """The values of features and their counts; InvalidArgumentError with `error` of the first of another kind or broken."""
    kind = wire.kind_of(dtype)
    for i, feature in enumerate(features):
        if feature is not None and feature.kind != kind:
            raise invalid(error(i))
    try:
        return wire.decode(features, kind)
    except wire.Malformed:
        raise invalid(error(wire.first_broken(features, kind))) from None


def _sparse(rows: list, dtype: np.dtype, error: Callable[[int], str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A sparse column: indices [n, 2], values [n] and the dense shape."""
    values, counts = _values(rows, dtype, error)
    return ragged_indices(counts), values, np.array([len(counts), counts.max(initial=0)], np.int64)


# ---- one message ----


def _mismatch(name: str, what: str, key: bytes, dtype: np.dtype, features: list, numbered: bool) -> Callable[[int], str]:
    """What is said of the feature at a place in `features` that is of another kind than `dtype`."""

    def text(index: int) -> str:
        place = f", Index: {index}" if numbered else ""
        kind, feature = wire.KIND_NAMES[wire.kind_of(dtype)], wire.message(features[index])
        return f"Name: {name}, {what}: {key.decode()}{place}.  Data types don't match. Expected type: {kind}  Feature is: {feature}"

    return text


def _rows(name: str, what: str, dense: Dense, features: list, numbered: bool) -> np.ndarray:
    """Dense features as rows; InvalidArgumentError where one is of another kind or size."""
    error = _mismatch(name, what, dense.key, dense.dtype, features, numbered)
    if None in features:
        raise invalid(error(features.index(None)))
    values, counts = _values(features, dense.dtype, error)
    wrong = np.flatnonzero(counts != dense.stride)
    if len(wrong):
        label = _LABELS[np.dtype(dense.dtype).kind]
        raise invalid(
            f"Name: {name}, Key: {dense.key.decode()}, Index: {wrong[0]}.  Number of {label} values != expected.  values size: "
            f"{counts[wrong[0]]} but output shape: {shape_text(dense.shape)}"
        )
    return values.reshape(len(features), *dense.shape)


def _single_context(name: str, dense: Dense, context: dict) -> np.ndarray:
    if dense.key in context:
        return _rows(name, "Context feature", dense, [context[dense.key]], False)[0]
    if not dense.default.size:
        raise invalid(f"Name: {name}, Context feature '{dense.key.decode()}' is required but could not be found.")
    return dense.default


def _single_list(name: str, dense: Dense, lists: dict, may_miss: set[bytes]) -> np.ndarray:
    if dense.key not in lists and dense.key not in may_miss:
        raise invalid(
            f"Name: {name}, Feature list '{dense.key.decode()}' is required but could not be found.  Did you mean to include "
            "it in feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?"
        )
    return _rows(name, "Feature list", dense, lists.get(dense.key, []), True)


def _grouped(triples: list[tuple]) -> tuple:
    """Columns of (indices, values, shape) as a list of each."""
    return tuple(tuple(part) for part in zip(*triples)) if triples else ((), (), ())


def _parse_single(text: bytes, name: str, wanted: Wanted) -> tuple:
    context, lists = wanted.read(text, f"Could not parse example input, value: '{text.decode('utf-8', 'replace')}'")
    context_sparse = []
    for key, dtype in wanted.context_sparse:
        found = [context.get(key)]
        indices, values, shape = _sparse(found, dtype, _mismatch(name, "Context feature", key, dtype, found, False))
        context_sparse.append((indices[:, 1:], values, shape[1:]))
    list_sparse = []
    for key, dtype in wanted.list_sparse:
        steps = lists.get(key, [])
        list_sparse.append(_sparse(steps, dtype, _mismatch(name, "Feature List", key, dtype, steps, True)))
    return (
        *_grouped(context_sparse), tuple(_single_context(name, d, context) for d in wanted.context_dense),
        *_grouped(list_sparse), tuple(_single_list(name, d, lists, wanted.may_miss) for d in wanted.list_dense),
    )  # fmt: skip


_KEYS = (
    "Ncontext_sparse: int >= 0 = 0, Ncontext_dense: int >= 0 = 0, Nfeature_list_sparse: int >= 0 = 0, "
    "Nfeature_list_dense: int >= 0 = 0, context_sparse_types: list({float32, int64, string}) >= 0 = [], "
    "Tcontext_dense: list({float32, int64, string}) >= 0 = [], "
    "feature_list_dense_types: list({float32, int64, string}) >= 0 = [], context_dense_shapes: list(shape) >= 0 = [], "
    "feature_list_sparse_types: list({float32, int64, string}) >= 0 = [], feature_list_dense_shapes: list(shape) >= 0 = []"
)
_OUTPUTS = (
    "context_sparse_indices: Ncontext_sparse*int64, context_sparse_values: context_sparse_types, "
    "context_sparse_shapes: Ncontext_sparse*int64, context_dense_values: Tcontext_dense, "
    "feature_list_sparse_indices: Nfeature_list_sparse*int64, feature_list_sparse_values: feature_list_sparse_types, "
    "feature_list_sparse_shapes: Nfeature_list_sparse*int64, feature_list_dense_values: feature_list_dense_types"
)


def _shapes(c: si.InferenceContext, lead: tuple) -> list:
    """The output shapes of both ops; `lead` is the batch dimension, or nothing."""
    check_counts(
        c, ("Ncontext_sparse", "context_sparse_types"), ("Ncontext_dense", "Tcontext_dense", "context_dense_shapes"),
        ("Nfeature_list_sparse", "feature_list_sparse_types"),
        ("Nfeature_list_dense", "feature_list_dense_types", "feature_list_dense_shapes"),
    )  # fmt: skip
    check_shapes(c.attr("context_dense_shapes"), allow_variable=False)
    check_shapes(c.attr("feature_list_dense_shapes"), allow_variable=False)
    rank, sparse, lists = len(lead), c.attr("Ncontext_sparse"), c.attr("Nfeature_list_sparse")
    return [
        *[(None, rank + 1)] * sparse, *[(None,)] * sparse, *[(rank + 1,)] * sparse,
        *[lead + s.sizes for s in c.attr("context_dense_shapes")],
        *[(None, rank + 2)] * lists, *[(None,)] * lists, *[(rank + 2,)] * lists,
        *[(*lead, None, *s.sizes) for s in c.attr("feature_list_dense_shapes")],
    ]  # fmt: skip


def _single_shape(c):
    si.with_rank(c.inputs[0], 0), si.with_rank(c.inputs[1], 1)
    return _shapes(c, ())


def _keys(tensors: Any) -> list[bytes]:
    for tensor in tensors:
        if tensor.ndim:
            raise invalid(f"Expected keys to be scalars, got shape: {shape_text(tensor.shape)}")
    return [t.item() for t in tensors]


@op(
    "ParseSingleSequenceExample",
    "(serialized: string, feature_list_dense_missing_assumed_empty: string, context_sparse_keys: Ncontext_sparse*string, "
    "context_dense_keys: Ncontext_dense*string, feature_list_sparse_keys: Nfeature_list_sparse*string, "
    "feature_list_dense_keys: Nfeature_list_dense*string, context_dense_defaults: Tcontext_dense, debug_name: string, *, "
    f"{_KEYS}) -> ({_OUTPUTS})",
    shape=_single_shape, gradient=NO_GRADIENT, side=HOST,
)  # fmt: skip
def _parse_single_sequence_example(
    serialized, may_miss, context_sparse, context_dense, list_sparse, list_dense, defaults, debug_name, *,
    context_sparse_types, Tcontext_dense, feature_list_dense_types, context_dense_shapes, feature_list_sparse_types,
    feature_list_dense_shapes,
):  # fmt: skip
    if serialized.ndim:
        raise invalid(f"Expected serialized to be a scalar, got shape: {shape_text(serialized.shape)}")
    dense = dense_features(_keys(context_dense), Tcontext_dense, context_dense_shapes, defaults)
    for i, d in enumerate(dense):
        if d.default.size and d.default.shape != d.shape:
            raise invalid(f"def_value[{i}].shape() == {shape_text(d.default.shape)} != context_dense_shapes_[{i}] == {shape_text(d.shape)}")
    steps = dense_features(
        _keys(list_dense), feature_list_dense_types, feature_list_dense_shapes, [()] * len(feature_list_dense_types)
    )
    wanted = Wanted(
        list(zip(_keys(context_sparse), context_sparse_types)), dense,
        list(zip(_keys(list_sparse), feature_list_sparse_types)), steps, set(may_miss.tolist()),
    )  # fmt: skip
    checks.scalar("debug_name", debug_name)
    name = debug_name.item().decode("utf-8", "replace") if debug_name.size else "<unknown>"
    return _parse_single(serialized.item(), name, wanted)


# ---- a batch ----


def _in_context(key: str, names: list[str]) -> Callable[[int], str]:
    return lambda i: f"Error in context feature {key} in example {names[i]}"


def _batch_context(names: list[str], dense: Dense, contexts: list[dict]) -> np.ndarray:
    key = dense.key.decode()
    features = [c.get(dense.key) for c in contexts]
    values, counts = _values(features, dense.dtype, _in_context(key, names))
    present = np.array([dense.key in c for c in contexts], bool)
    if not present.all() and not dense.default.size:
        kind = wire.KIND_NAMES[wire.kind_of(dense.dtype)]
        raise invalid(f"Feature: {key} (data type: {kind}) is required but could not be found.")
    longest = max(int(counts.max(initial=0)), dense.default.size)
    if longest != dense.stride:
        raise invalid(f"Inconsistent number of elements for feature {key}: {longest} vs 1")
    wrong = np.flatnonzero(present & (counts != dense.stride))
    if len(wrong):
        raise invalid(f"Unexpected number of elements in example {names[wrong[0]]}")
    found = np.empty((len(contexts), dense.stride), dense.dtype)
    found[present] = values.reshape(-1, dense.stride)
    if not present.all():
        found[~present] = dense.default.reshape(-1)
    return found.reshape(len(contexts), *dense.shape)


def _in_sequence(key: str, names: list[str], owners: np.ndarray) -> Callable[[int], str]:
    return lambda i: f"Error in sequence feature {key} in example {names[owners[i]]}"


def _batch_list(names: list[str], dense: Dense, lists: list[dict], may_miss: set[bytes]) -> tuple[np.ndarray, np.ndarray]:
    """A dense sequence [batch, longest, *shape] and its lengths."""
    key = dense.key.decode()
    for name, found in zip(names, lists):
        if dense.key not in found and dense.key not in may_miss:
            raise invalid(f"Missing feature {key} in example {name}")
    steps = [found.get(dense.key, []) for found in lists]
    lengths = np.array([len(s) for s in steps], np.int64)
    owners = np.repeat(np.arange(len(steps)), lengths)
    values, counts = _values([f for s in steps for f in s], dense.dtype, _in_sequence(key, names, owners))
    if int(np.bincount(owners, counts, len(steps)).max(initial=0)) % dense.stride:
        raise invalid(f"Unexpected shape error in feature {key}")
    wrong = np.flatnonzero(counts != dense.stride)
    if len(wrong):
        raise invalid(f"Unexpected number of elements in feature {key}, example {names[owners[wrong[0]]]}")
    longest = int(lengths.max(initial=0))
    padded = np.full((len(lists), longest, *dense.shape), b"" if dense.dtype == object else 0, dense.dtype)
    padded[np.arange(longest) < lengths[:, None]] = values.reshape(-1, *dense.shape)
    return padded, lengths


def _batch_list_sparse(names: list[str], key: bytes, dtype: np.dtype, lists: list[dict]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A sparse sequence: indices [n, 3], values and the dense shape."""
    steps = [found.get(key, []) for found in lists]
    lengths = np.array([len(s) for s in steps], np.int64)
    owners = np.repeat(np.arange(len(steps)), lengths)
    values, counts = _values([f for s in steps for f in s], dtype, _in_sequence(key.decode(), names, owners))
    inner = ragged_indices(counts)
    indices = np.concatenate([ragged_indices(lengths)[inner[:, 0]], inner[:, 1:]], 1)
    return indices, values, np.array([len(lists), lengths.max(initial=0), counts.max(initial=0)], np.int64)


def _batch_shape(c):
    batch = si.with_rank(c.inputs[0], 1)
    parts = ("context_sparse", "context_dense", "feature_list_sparse", "feature_list_dense")
    check_counts(c, *((f"N{part}", f"{part}_keys") for part in parts))
    si.with_rank(c.inputs[1], 1)
    return _shapes(c, batch) + [batch] * c.attr("Nfeature_list_dense")


@op(
    "ParseSequenceExample",
    "(serialized: string, debug_name: string, context_dense_defaults: Tcontext_dense, *, "
    "feature_list_dense_missing_assumed_empty: list(string) >= 0, context_sparse_keys: list(string) >= 0, "
    "context_dense_keys: list(string) >= 0, feature_list_sparse_keys: list(string) >= 0, "
    f"feature_list_dense_keys: list(string) >= 0, {_KEYS}) -> ({_OUTPUTS}, feature_list_dense_lengths: Nfeature_list_dense*int64)",
    shape=_batch_shape, gradient=NO_GRADIENT, side=HOST,
)  # fmt: skip
def _parse_sequence_example(
    serialized, debug_name, defaults, *, feature_list_dense_missing_assumed_empty, context_sparse_keys, context_dense_keys,
    feature_list_sparse_keys, feature_list_dense_keys, context_sparse_types, Tcontext_dense, feature_list_dense_types,
    context_dense_shapes, feature_list_sparse_types, feature_list_dense_shapes,
):  # fmt: skip
    if serialized.ndim != 1:
        raise invalid(f"Expected serialized to be a vector, got shape: {shape_text(serialized.shape)}")
    if debug_name.size and debug_name.size != serialized.size:
        raise invalid("example_names must be empty or have the correct number of elements")
    names = [n.decode("utf-8", "replace") for n in debug_name.ravel().tolist()] or ["<unknown>"] * len(serialized)
    dense = dense_features(_encoded(context_dense_keys), Tcontext_dense, context_dense_shapes, defaults)
    for d in dense:
        if d.default.size and d.default.shape != d.shape:
            raise invalid(
                f"Default value for context feature {d.key.decode()} has an incorrect shape: saw "
                f"{shape_text(d.default.shape)} but expected {shape_text(d.shape)}"
            )
    steps = dense_features(
        _encoded(feature_list_dense_keys), feature_list_dense_types, feature_list_dense_shapes,
        [()] * len(feature_list_dense_types),
    )  # fmt: skip
    wanted = Wanted(
        list(zip(_encoded(context_sparse_keys), context_sparse_types)), dense,
        list(zip(_encoded(feature_list_sparse_keys), feature_list_sparse_types)), steps,
        set(_encoded(feature_list_dense_missing_assumed_empty)),
    )  # fmt: skip
    return _parse_batch(serialized.tolist(), names, wanted)


def _encoded(keys: tuple[str, ...]) -> list[bytes]:
    return [k.encode("latin-1") for k in keys]


def _parse_batch(texts: list[bytes], names: list[str], wanted: Wanted) -> tuple:
    read = [wanted.read(t, f"Invalid protocol message input, example id: {n}") for t, n in zip(texts, names)]
    contexts, lists = [r[0] for r in read], [r[1] for r in read]
    context_sparse = [
        _sparse([c.get(key) for c in contexts], dtype, _in_context(key.decode(), names)) for key, dtype in wanted.context_sparse
    ]
    sequences = [_batch_list(names, d, lists, wanted.may_miss) for d in wanted.list_dense]
    return (
        *_grouped(context_sparse), tuple(_batch_context(names, d, contexts) for d in wanted.context_dense),
        *_grouped([_batch_list_sparse(names, key, dtype, lists) for key, dtype in wanted.list_sparse]),
        tuple(s[0] for s in sequences), tuple(s[1] for s in sequences),
    )  # fmt: skip
