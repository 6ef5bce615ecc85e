"""What a lookup table holds in a Session: the values behind the handles of ops/lookup/kernels.py."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfcompat._src.base import errors
from tfcompat._src.base.dtypes import DType
from tfcompat._src.graph.tensor import shape_text
from tfcompat._src.ops.strings.farmhash import hash64


def invalid(text: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(None, None, text)


def array_of(values: list, dtype: DType, shape: tuple) -> np.ndarray:
    """An array of Python values of `dtype`."""
    if dtype.as_numpy_dtype is not object:
        return np.array(values, dtype.as_numpy_dtype).reshape(shape)
    found = np.empty(len(values), object)
    found[:] = values
    return found.reshape(shape)


class Table:
    """Keys and values of one dtype each; a base of the kinds of tables.

    Args:
      key_dtype, value_dtype: DTypes. key_shape, value_shape: the shape of one key and of one value.
    """

    is_initializable = False

    def __init__(self, key_dtype: DType, value_dtype: DType, key_shape: tuple = (), value_shape: tuple = ()) -> None:
        self.key_dtype, self.value_dtype = key_dtype, value_dtype
        self.key_shape, self.value_shape = key_shape, value_shape
        self.lock = threading.Lock()

    # ---- checks ----

    def check_types(self, *found: DType) -> None:
        """InvalidArgumentError where a node's key dtype (and value dtype) are not those of the table."""
        wanted = (self.key_dtype, self.value_dtype)[: len(found)]
        if found != wanted:
            raise invalid(
                f"Signature mismatch, have: {','.join(t.name for t in found)} expected: {','.join(t.name for t in wanted)}"
            )

    def check_keys(self, keys: np.ndarray) -> tuple:
        """The shape of `keys` without that of one key; InvalidArgumentError where it does not end with it."""
        rank = len(self.key_shape)
        if keys.ndim < rank or keys.shape[keys.ndim - rank :] != self.key_shape:
            raise invalid(
                f"Input key shape {shape_text(keys.shape)} must end with the table's key shape {shape_text(self.key_shape)}"
            )
        return keys.shape[: keys.ndim - rank]

    def check_default(self, default: np.ndarray) -> None:
        if default.shape != self.value_shape:
            raise invalid(f"Expected shape {shape_text(self.value_shape)} for default value, got {shape_text(default.shape)}")

    def check_pairs(self, keys: np.ndarray, values: np.ndarray) -> None:
        """InvalidArgumentError where there is not one value for each key."""
        wanted = self.check_keys(keys) + self.value_shape
        if values.shape != wanted:
            raise invalid(f"Expected shape {shape_text(wanted)} for value, got {shape_text(values.shape)}")

    def check_import(self, keys: np.ndarray, values: np.ndarray) -> None:
        self.check_pairs(keys, values)

    # ---- what a kind of table does ----

    def size(self) -> int:
        raise NotImplementedError

    def find(self, keys: np.ndarray, default: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def insert(self, keys: np.ndarray, values: np.ndarray) -> None:
        raise NotImplementedError

    def remove(self, keys: np.ndarray) -> None:
        raise NotImplementedError

    def import_values(self, keys: np.ndarray, values: np.ndarray) -> None:
        raise NotImplementedError

    def export_values(self) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError


class _DictTable(Table):
    """A table in a Python dict."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.entries: dict[Any, Any] = {}

    def size(self) -> int:
        return len(self.entries)

    def find(self, keys: np.ndarray, default: np.ndarray) -> np.ndarray:
        get, otherwise = self.entries.get, default.tolist()
        found = [get(k, otherwise) for k in keys.reshape(-1).tolist()]
        if self.value_shape and self.value_dtype.as_numpy_dtype is object:
            found = [v for row in found for v in row]
        return array_of(found, self.value_dtype, keys.shape + self.value_shape)

    def export_values(self) -> tuple[np.ndarray, np.ndarray]:
        values = list(self.entries.values())
        if self.value_shape and self.value_dtype.as_numpy_dtype is object:
            values = [v for row in values for v in row]
        shape = (len(self.entries), *self.value_shape)
        return array_of(list(self.entries), self.key_dtype, (-1,)), array_of(values, self.value_dtype, shape)


class StaticTable(_DictTable):
    """HashTable: filled once by its initializer, read only afterwards."""

    is_initializable = True
    is_initialized = False

    def find(self, keys: np.ndarray, default: np.ndarray) -> np.ndarray:
        if not self.is_initialized:
            raise errors.FailedPreconditionError(None, None, "Table not initialized.")
        return super().find(keys, default)

    def size(self) -> int:
        return super().size() if self.is_initialized else 0

    def insert(self, keys: np.ndarray, values: np.ndarray) -> None:
        raise errors.UnimplementedError(None, None, "Insert not supported by InitializableLookupTable implementations")

    def remove(self, keys: np.ndarray) -> None:
        raise errors.UnimplementedError(None, None, "Remove not supported by InitializableLookupTable implementations")

    def import_values(self, keys: np.ndarray, values: np.ndarray) -> None:
        if not keys.size:
            raise invalid("keys and values cannot be empty tensors.")
        pairs = zip(keys.reshape(-1).tolist(), values.reshape(-1).tolist())
        self.initialize(pairs, keys.size)

    def initialize(self, pairs: Iterator[tuple], count: int) -> None:
        """Fills the table; a table that has as many entries already stays as it is.

        Raises:
          FailedPreconditionError: it was filled with other data, or a key comes twice with different values.
        """
        with self.lock:
            if self.is_initialized:
                if count != self.size():
                    raise errors.FailedPreconditionError(
                        None, None, "Table was already initialized with different data."
                    )
                return
            entries: dict[Any, Any] = {}
            for key, value in pairs:
                if entries.setdefault(key, value) != value:
                    raise errors.FailedPreconditionError(
                        None, None,
                        f"HashTable has different value for same key. Key {_text(key)} has {_text(entries[key])} "
                        f"and trying to add value {_text(value)}",
                    )  # fmt: skip
            self.entries, self.is_initialized = entries, True

    def export_values(self) -> tuple[np.ndarray, np.ndarray]:
        if not self.is_initialized:
            raise errors.AbortedError(None, None, "HashTable is not initialized.")
        return super().export_values()


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


class MutableTable(_DictTable):
    """MutableHashTable and MutableHashTableOfTensors: a dict that can be changed."""

    def insert(self, keys: np.ndarray, values: np.ndarray) -> None:
        with self.lock:
            self.entries.update(self._pairs(keys, values))

    def _pairs(self, keys: np.ndarray, values: np.ndarray) -> Iterator[tuple]:
        return zip(keys.reshape(-1).tolist(), values.reshape(keys.size, *self.value_shape).tolist())

    def remove(self, keys: np.ndarray) -> None:
        with self.lock:
            for key in keys.reshape(-1).tolist():
                self.entries.pop(key, None)

    def import_values(self, keys: np.ndarray, values: np.ndarray) -> None:
        with self.lock:
            self.entries = dict(self._pairs(keys, values))

    def export_values(self) -> tuple[np.ndarray, np.ndarray]:
        with self.lock:
            return super().export_values()


class DenseTable(Table):
    """MutableDenseHashTable: open addressing with quadratic probing, in buckets that an export shows as they are.

    Args:
      empty_key, deleted_key: keys that mark buckets; no entry may have them.
      num_buckets: a power of two, at least 4. max_load_factor: share of full buckets above which their number doubles.
    """

    def __init__(
        self, key_dtype: DType, value_dtype: DType, empty_key: np.ndarray, deleted_key: np.ndarray, value_shape: tuple,
        num_buckets: int, max_load_factor: float,
    ) -> None:  # fmt: skip
        super().__init__(key_dtype, value_dtype, empty_key.shape, value_shape)
        if not 0 < max_load_factor < 1:
            raise invalid(f"max_load_factor must be between 0 and 1, got: {max_load_factor:g}")
        if len(value_shape) > 1:
            raise invalid(f"Empty value must be a scalar or a vector, got shape {shape_text(value_shape)}")
        if empty_key.ndim > 1:
            raise invalid(f"Empty key must be a scalar or a vector, got shape {shape_text(empty_key.shape)}")
        if empty_key.shape != deleted_key.shape:
            raise invalid(
                "Empty and deleted keys must have same shape, got shapes: "
                f"{shape_text(empty_key.shape)} and {shape_text(deleted_key.shape)}"
            )
        self.empty_key, self.deleted_key = (tuple(k.reshape(-1).tolist()) for k in (empty_key, deleted_key))
        if self.empty_key == self.deleted_key:
            raise invalid("Empty and deleted keys cannot be equal")
        self.max_load_factor = max_load_factor
        self._allocate(num_buckets)

    @property
    def _value_length(self) -> int:
        return int(np.prod(self.value_shape, dtype=np.int64))

    def _allocate(self, num_buckets: int) -> None:
        if num_buckets < 4 or num_buckets & (num_buckets - 1):
            raise invalid(f"Number of buckets must be at least 4 and a power of 2, got: {num_buckets}")
        kind = self.value_dtype.as_numpy_dtype
        self.keys: list[tuple] = [self.empty_key] * num_buckets
        self.values = np.full((num_buckets, self._value_length), b"" if kind is object else 0, kind)
        self.places: dict[tuple, int] = {}

    def size(self) -> int:
        return len(self.places)

    def _rows(self, keys: np.ndarray) -> list[tuple]:
        """The keys as tuples; InvalidArgumentError where the shape is wrong or a key is one of the two marks."""
        count = keys.shape[0] if keys.ndim else 1
        length = len(self.empty_key)
        if keys.size != count * length:
            wanted = shape_text((count, *self.key_shape))
            raise invalid(f"Expected key shape {wanted} got {shape_text(keys.shape)}")
        rows = list(map(tuple, keys.reshape(count, length).tolist()))
        names = {self.deleted_key: "deleted_key", self.empty_key: "empty_key"}
        for row in rows:
            if row in names:
                raise invalid(f"Using the {names[row]} as a table key is not allowed")
        return rows

    def find(self, keys: np.ndarray, default: np.ndarray) -> np.ndarray:
        rows = self._rows(keys)
        with self.lock:
            places = np.array([self.places.get(r, -1) for r in rows], np.int64)
            found = self.values[places]
        found[places < 0] = default.reshape(-1)
        return found.reshape(keys.shape[: keys.ndim - len(self.key_shape)] + self.value_shape)

    def insert(self, keys: np.ndarray, values: np.ndarray) -> None:
        rows = self._rows(keys)
        with self.lock:
            pending, buckets = len(self.places) + len(rows), len(self.keys)
            while pending > buckets * self.max_load_factor:
                buckets *= 2
            if buckets > len(self.keys):
                self._grow(buckets)
            self._put(rows, values.reshape(len(rows), self._value_length))

    def _grow(self, num_buckets: int) -> None:
        marks = (self.empty_key, self.deleted_key)
        kept = [i for i, key in enumerate(self.keys) if key not in marks]
        rows, values = [self.keys[i] for i in kept], self.values[kept]
        self._allocate(num_buckets)
        self._put(rows, values)

    def _put(self, rows: list[tuple], values: np.ndarray) -> None:
        mask = len(self.keys) - 1
        for row, value, place in zip(rows, values, self._hashes(rows)):
            place &= mask
            known = self.places.get(row)
            if known is None:
                probes = 0
                while self.keys[place] not in (self.empty_key, self.deleted_key):
                    probes += 1
                    place = (place + probes) & mask
                self.keys[place] = row
                self.places[row] = known = place
            self.values[known] = value

    def _hashes(self, rows: list[tuple]) -> list[int]:
        flat = [k for row in rows for k in row]
        if self.key_dtype.as_numpy_dtype is object:
            numbers = hash64(flat)
        else:
            numbers = np.array(flat, np.int64).view(np.uint64)
        numbers = numbers.reshape(len(rows), len(self.empty_key))
        if numbers.shape[1] == 1:
            return numbers[:, 0].tolist()
        total = np.zeros(len(rows), np.uint64)
        for column in numbers.T:
            golden = np.uint64(0x9E3779B97F4A7800)
            total = total ^ (column + golden + (total << np.uint64(10)) + (total >> np.uint64(4)))
        return total.tolist()

    def remove(self, keys: np.ndarray) -> None:
        if not keys.ndim:
            raise invalid(f"Expected key shape {shape_text((None, *self.key_shape))} got []")
        rows = self._rows(keys)
        with self.lock:
            for row in rows:
                place = self.places.pop(row, None)
                if place is not None:
                    self.keys[place] = self.deleted_key

    def check_import(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Checks the two parts of an export: [buckets, length of a key] and [buckets, length of a value]."""
        lead = keys.shape[: max(keys.ndim - max(len(self.key_shape), 1), 0)]
        wanted = lead + (self.value_shape or (1,))
        self.check_keys(keys)
        if values.shape != wanted:
            raise invalid(f"Expected shape {shape_text(wanted)} for value, got {shape_text(values.shape)}")

    def import_values(self, keys: np.ndarray, values: np.ndarray) -> None:
        with self.lock:
            self.keys = list(map(tuple, keys.reshape(len(keys), -1).tolist()))
            self.values = np.array(values)
            marks = (self.empty_key, self.deleted_key)
            self.places = {key: i for i, key in enumerate(self.keys) if key not in marks}

    def export_values(self) -> tuple[np.ndarray, np.ndarray]:
        with self.lock:
            flat = [k for key in self.keys for k in key]
            return array_of(flat, self.key_dtype, (len(self.keys), len(self.empty_key))), self.values.copy()
