"""Tables between words and numbers, with buckets for words outside the vocabulary."""

from __future__ import annotations

import collections
import functools
import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.graph.constant_value import constant_value
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.lookup.initializers import (
    KeyValueTensorInitializer,
    TextFileIdTableInitializer,
    TextFileIndex,
    TextFileStringTableInitializer,
)
from tfcompat._src.lookup.interface import LookupInterface, TableInitializerBase, with_values
from tfcompat._src.lookup.static import HashTable, StaticHashTableV1
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.search import where_v2
from tfcompat._src.ops.array.shape import size
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.sequence import arange
from tfcompat._src.ops.strings.hashing import (
    string_to_hash_bucket,
    string_to_hash_bucket_fast,
    string_to_hash_bucket_strong,
)
from tfcompat._src.ops.strings.numbers import as_string

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.lookup.HasherSpec")
class HasherSpec(collections.namedtuple("HasherSpec", ["hasher", "key"])):
    """A hash function: "fasthash", "legacy", or "stronghash" with a key of two integers."""

    __slots__ = ()


FastHashSpec = export("contrib.lookup.FastHashSpec")(HasherSpec("fasthash", None))


@export("contrib.lookup.StrongHashSpec")
class StrongHashSpec(HasherSpec):
    """The keyed hash function SipHash.

    Args:
      key: two unsigned integers.

    Raises:
      ValueError: there are not two. TypeError: they are no integers.
    """

    __slots__ = ()

    def __new__(cls, key: Any) -> StrongHashSpec:
        if len(key) != 2:
            raise ValueError(f"key must have size 2, got {len(key)}.")
        if not all(isinstance(k, numbers.Integral) for k in key):
            raise TypeError(f"Invalid key {key}. Must be unsigned integer values.")
        return super().__new__(cls, "stronghash", key)


def _hash_function(spec: object) -> Callable:
    if not isinstance(spec, HasherSpec):
        raise TypeError(f"hasher_spec must be of type HasherSpec {spec}")
    if spec.hasher == "fasthash":
        return string_to_hash_bucket_fast
    if spec.hasher == "legacy":
        return string_to_hash_bucket
    if spec.hasher == "stronghash":
        return functools.partial(string_to_hash_bucket_strong, key=spec.key)
    raise ValueError(f"Unknown hasher {spec.hasher}")


def _check_vocabulary(owner: Any, key_dtype: dtypes.DType) -> None:
    """TypeError where a table (or initializer) is not one from words or numbers to int64."""
    allowed = (dtypes.int64, dtypes.string)
    if owner.key_dtype not in allowed:
        raise TypeError(f"Invalid key dtype, expected one of {allowed}, but got {key_dtype}.")
    if owner.key_dtype.is_integer != key_dtype.is_integer:
        wanted = "integer" if key_dtype.is_integer else "non-integer"
        raise TypeError(f"Invalid key dtype, expected {wanted} but got {owner.key_dtype}.")
    if owner.value_dtype != dtypes.int64:
        raise TypeError(f"Invalid value dtype, expected {dtypes.int64} but got {owner.value_dtype}.")


class _BucketTable(LookupInterface):
    """A table and buckets behind it; a base of the two public kinds."""

    _table: Any
    _table_name: str | None
    _num_oov_buckets: int

    def _create_resource(self) -> Tensor | None:
        return None if self._table is None else self._table._create_resource()

    def _initialize(self) -> Operation:
        return self._nothing_to_do() if self._table is None else self._table._initialize()

    def _nothing_to_do(self) -> Operation:
        with name_scope(None, "init"):
            return no_op()

    @property
    def initializer(self) -> Operation:
        return self._nothing_to_do() if self._table is None else self._table._init_op

    @property
    def resource_handle(self) -> Tensor | None:
        return None if self._table is None else self._table.resource_handle

    @property
    def name(self) -> str | None:
        return self._table_name

    def size(self, name: str | None = None) -> Tensor:
        """The number of ids, an int64 scalar: entries and buckets."""
        with name_scope(name, f"{self.name}_Size"):
            entries = self._table.size() if self._table else convert_to_tensor(0, dtype=dtypes.int64)
            return entries + self._num_oov_buckets

    def _words(self, keys: Any) -> Tensor:
        self._check_keys(keys)
        words = keys.values if isinstance(keys, SparseTensor) else keys
        if self._table and self._table.key_dtype.base_dtype == dtypes.int64:
            words = cast(words, dtypes.int64)
        return words

    def _ids(self, words: Tensor, hash_function: Callable, name: str | None) -> Tensor:
        with name_scope(name, f"{self.name}_Lookup"):
            text = words if words.dtype.base_dtype == dtypes.string else as_string(words)
            buckets = hash_function(text, num_buckets=self._num_oov_buckets, name="hash_bucket")
            if not self._table:
                return buckets
            ids = self._table.lookup(words)
            buckets = raw.Add(buckets, self._table.size())
            return where_v2(raw.NotEqual(ids, self._table.default_value), ids, buckets)


@export("contrib.lookup.IdTableWithHashBuckets")
class IdTableWithHashBuckets(_BucketTable):
    """Ids of words: those of a table, then those of buckets that other words are hashed to.

    Args:
      table: a table from int64 or string to int64, or None for buckets only.
      num_oov_buckets: number of buckets.
      hasher_spec: a HasherSpec.
      name: name of the table.
      key_dtype: dtype of the keys that are looked up, integer or string; by default that of `table`.

    Raises:
      ValueError: there are neither table nor buckets. TypeError: a dtype does not fit.
    """

    def __init__(
        self, table: LookupInterface | None, num_oov_buckets: int, hasher_spec: object = FastHashSpec,
        name: str | None = None, key_dtype: Any = None,
    ) -> None:  # fmt: skip
        name = name.rstrip("/") if name else name
        if table:
            key_dtype = table.key_dtype if key_dtype is None else key_dtype
            _check_vocabulary(table, key_dtype)
            self._table, name = table, name or table.name
        else:
            if num_oov_buckets <= 0:
                raise ValueError("oov_buckets must be > 0 if no table is supplied.")
            key_dtype = dtypes.string if key_dtype is None else key_dtype
            self._table, name = None, name or "hash_bucket"
        if not key_dtype.is_integer and key_dtype != dtypes.string:
            raise TypeError(f"Invalid key_dtype, expected integer or string, got {key_dtype}.")
        if not isinstance(hasher_spec, HasherSpec):
            raise TypeError(f"hasher_spec must be of type HasherSpec, got {hasher_spec}")
        if self._table is not None:
            self._track_trackable(self._table, "_table")
        self._num_oov_buckets, self._hasher_spec = num_oov_buckets, hasher_spec
        self._table_name = name.rpartition("/")[2] if name else None
        super().__init__(key_dtype, dtypes.int64)

    @property
    def init(self) -> Operation:
        """Deprecated name of `initializer`."""
        return self.initializer

    def lookup(self, keys: object, name: str | None = None) -> SparseTensor | Tensor:
        """The ids of `keys`, a Tensor or SparseTensor, int64 in its form; TypeError where the dtype is another."""
        words = self._words(keys)
        if self._num_oov_buckets == 0:
            return with_values(keys, self._table.lookup(words, name=name))
        return with_values(keys, self._ids(words, _hash_function(self._hasher_spec), name))


class StaticVocabularyTable(_BucketTable):
    """See StaticVocabularyTableV1."""

    def __init__(
        self, initializer: TableInitializerBase | None, num_oov_buckets: int, lookup_key_dtype: Any = None,
        name: str | None = None,
    ) -> None:  # fmt: skip
        if num_oov_buckets <= 0:
            raise ValueError("oov_buckets must be > 0.")
        name = name.rstrip("/") if name else name
        if initializer:
            key_dtype = initializer.key_dtype if lookup_key_dtype is None else lookup_key_dtype
            _check_vocabulary(initializer, key_dtype)
            self._table: Any = HashTable(self._track_trackable(initializer, "_initializer"), default_value=-1)
            name = name or self._table.name
        else:
            key_dtype = dtypes.string
            self._table, name = None, name or "hash_bucket"
        if not key_dtype.is_integer and key_dtype != dtypes.string:
            raise TypeError(f"Invalid key_dtype, expected integer or string, got {key_dtype}.")
        self._num_oov_buckets = num_oov_buckets
        self._table_name = None if name is None else name.rpartition("/")[2]
        super().__init__(key_dtype, dtypes.int64)

    def lookup(self, keys: object, name: str | None = None) -> SparseTensor | Tensor:
        """The ids of `keys`, a Tensor or SparseTensor, int64 in its form; TypeError where the dtype is another."""
        return with_values(keys, self._ids(self._words(keys), string_to_hash_bucket_fast, name))


@export("lookup.StaticVocabularyTable")
class StaticVocabularyTableV1(StaticVocabularyTable):
    """Ids of words: those of a vocabulary, then those of buckets that other words are hashed to by FarmHash64.

    Args:
      initializer: a table initializer from int64 or string to int64, or None for buckets only.
      num_oov_buckets: number of buckets, at least 1.
      lookup_key_dtype: dtype of the keys that are looked up; by default that of the initializer.
      name: name of the table.

    Raises:
      ValueError: there are no buckets. TypeError: a dtype does not fit.
    """


def _check_file(vocabulary_file: object) -> None:
    if vocabulary_file is None or (isinstance(vocabulary_file, str) and not vocabulary_file):
        raise ValueError("vocabulary_file must be specified and must not be empty.")


def _check_buckets(num_oov_buckets: int) -> None:
    if num_oov_buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {num_oov_buckets}.")


@export("contrib.lookup.index_table_from_file")
def index_table_from_file(
    vocabulary_file: Any = None, num_oov_buckets: int = 0, vocab_size: int | None = None, default_value: int = -1,
    hasher_spec: object = FastHashSpec, key_dtype: Any = dtypes.string, name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE, value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> LookupInterface:  # fmt: skip
    """A table from the words of a file, one a line, to their int64 ids.

    Args:
      vocabulary_file: path, or a scalar string tensor.
      num_oov_buckets: number of buckets for other words, whose ids follow.
      vocab_size: number of lines that are read; by default all.
      default_value: id of other words where there are no buckets.
      hasher_spec: hash function of the buckets.
      key_dtype: an integer dtype or string.
      name: name scope.
      key_column_index, value_column_index, delimiter: as TextFileInitializer's.

    Raises:
      ValueError: there is no file name, or a number is negative. TypeError: keys of another dtype.
    """
    _check_file(vocabulary_file)
    _check_buckets(num_oov_buckets)
    if vocab_size is not None and vocab_size < 1:
        path = constant_value(vocabulary_file) or "?" if isinstance(vocabulary_file, Tensor) else vocabulary_file
        raise ValueError(f"vocab_size must be greater than 0, got {vocab_size}. vocabulary_file: {path}")
    if not key_dtype.is_integer and dtypes.string != key_dtype.base_dtype:
        raise TypeError("Only integer and string keys are supported.")
    with name_scope(name, "string_to_index"):
        with name_scope(None, "hash_table"):
            init = TextFileIdTableInitializer(
                vocabulary_file, vocab_size=vocab_size, key_dtype=dtypes.int64 if key_dtype.is_integer else key_dtype,
                name="table_init", key_column_index=key_column_index, value_column_index=value_column_index,
                delimiter=delimiter,
            )  # fmt: skip
            table = StaticHashTableV1(init, default_value)
        return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=key_dtype) if num_oov_buckets else table


def index_table_from_tensor(
    vocabulary_list: object, num_oov_buckets: int = 0, default_value: int = -1, hasher_spec: object = FastHashSpec,
    dtype: Any = dtypes.string, name: str | None = None,
) -> LookupInterface:  # fmt: skip
    """A table from the words of a vector to their int64 places in it.

    Args:
      vocabulary_list: vector of strings or integers, without repeats.
      num_oov_buckets: number of buckets for other words, whose ids follow.
      default_value: id of other words where there are no buckets.
      hasher_spec: hash function of the buckets.
      dtype: an integer dtype or string, that of the keys.
      name: name scope.

    Raises:
      ValueError: there is no list, it is of another kind than `dtype`, or `num_oov_buckets` is negative.
      TypeError: keys of another dtype.
    """
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    _check_buckets(num_oov_buckets)
    if not dtype.is_integer and dtypes.string != dtype.base_dtype:
        raise TypeError("Only integer and string keys are supported.")
    with name_scope(name, "string_to_index"):
        keys = convert_to_tensor(vocabulary_list)
        if keys.dtype.is_integer != dtype.is_integer:
            raise ValueError(f"Expected {'integer' if dtype.is_integer else 'non-integer'}, got {keys.dtype}.")
        if not dtype.is_integer and keys.dtype.base_dtype != dtype:
            raise ValueError(f"Expected {dtype}, got {keys.dtype}.")
        values = cast(arange(size(keys)), dtypes.int64)
        with name_scope(None, "hash_table"):
            keys = cast(keys, dtypes.int64) if keys.dtype.is_integer else keys
            init = KeyValueTensorInitializer(keys, values, keys.dtype.base_dtype, dtypes.int64, name="table_init")
            table = StaticHashTableV1(init, default_value)
        return IdTableWithHashBuckets(table, num_oov_buckets, hasher_spec, key_dtype=dtype) if num_oov_buckets else table


@export("contrib.lookup.index_to_string_table_from_file")
def index_to_string_table_from_file(
    vocabulary_file: object, vocab_size: int | None = None, default_value: str = "UNK", name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER, value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> LookupInterface:  # fmt: skip
    """A table from int64 ids to the words of a file, one a line; arguments and errors as index_table_from_file's."""
    _check_file(vocabulary_file)
    if vocab_size is not None and vocab_size < 1:
        raise ValueError(f"vocab_size must be greater than 0, got {vocab_size}.")
    with name_scope(name, "index_to_string"):
        init = TextFileStringTableInitializer(
            vocabulary_file, vocab_size=vocab_size, name="table_init", key_column_index=key_column_index,
            value_column_index=value_column_index, delimiter=delimiter,
        )  # fmt: skip
        return StaticHashTableV1(init, default_value)


def index_to_string_table_from_tensor(
    vocabulary_list: TensorLike, default_value: str = "UNK", name: str | None = None
) -> LookupInterface:
    """A table from the places in a vector to its words; `default_value` stands for other ids."""
    if vocabulary_list is None:
        raise ValueError("vocabulary_list must be specified.")
    with name_scope(name, "index_to_string"):
        words = convert_to_tensor(vocabulary_list, dtypes.string)
        keys = cast(arange(size(words)), dtypes.int64)
        init = KeyValueTensorInitializer(keys, words, dtypes.int64, dtypes.string, name="table_init")
        return StaticHashTableV1(init, default_value)
