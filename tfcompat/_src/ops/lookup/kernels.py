"""The op types of lookup tables. The value of a handle, ref or resource, is the Table that the Session keeps."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tfcompat._src.graph import shape_inference as si
from tfcompat._src.graph.op_spec import EXTERNAL, HOST, NAMES_RESOURCE, Effects, NotDifferentiable, op
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.tensor import Tensor, shape_text
from tfcompat._src.ops.lookup import text_file
from tfcompat._src.ops.lookup.tables import DenseTable, MutableTable, StaticTable, Table, invalid

_NO_GRADIENT = NotDifferentiable("a table has no derivative")
_EXPORTED = NotDifferentiable("1.15 has no gradient of a table's values", raises=True)
_add = functools.partial(op, gradient=_NO_GRADIENT, side=HOST, context=True, depth=2)
_FORWARDS = frozenset(("Identity", "RefIdentity", "Enter", "RefEnter", "Switch", "RefSwitch"))

_COMMON = (
    "int32-float64 int32-float32 int32-int32 int64-float64 int64-float32 int64-int32 int64-int64 "
    "string-bool string-float64 string-float32 string-int32 string-int64 "
)
_KERNELS = {
    "HashTable": _COMMON + "int32-string int64-string string-string",
    "MutableHashTable": _COMMON + "int64-string int64-variant",
    "MutableHashTableOfTensors": _COMMON + "int64-string",
    "MutableDenseHashTable": _COMMON + "int64-bool int64-variant",
}
"""The dtypes that 1.15 has tables for."""


# ---- handles ----


def table_op(handle: Tensor) -> Operation | None:
    """The node that makes the table behind a handle, where the graph tells."""
    node = handle.op
    while node.type in _FORWARDS:
        node = node.inputs[0].op
    return node if node.type.removesuffix("V2") in _KERNELS else None


def _handle_sizes(c: si.InferenceContext) -> None:
    """Checks the shape of a table handle: a scalar resource, or the two strings of a ref."""
    if c.op.inputs[0].dtype.base_dtype.name == "resource":
        si.with_rank(c.inputs[0], 0)
    else:
        si.with_size(si.with_rank(c.inputs[0], 1)[0], 2)


def _resource(context: Any, make: Any) -> Table:
    """Returns the table of a handle node, made in its first run.

    Nodes of one shared name in one container share it. Without a name it belongs to the session, unless the node's name is to be shared.
    """
    node = context.op
    key_dtype, value_dtype = node.attrs["key_dtype"], node.attrs["value_dtype"]
    allowed = _KERNELS[node.type.removesuffix("V2")]
    if f"{key_dtype.name}-{value_dtype.name}" not in allowed.split():
        raise invalid(
            f"No OpKernel was registered to support Op '{node.type}' used by node {node.name} with key_dtype="
            f"{key_dtype.name}, value_dtype={value_dtype.name}: the pairs are {allowed}"
        )
    name = node.attrs.get("shared_name", b"").decode() or (node.name if node.attrs["use_node_name_sharing"] else "")
    resources = context.resources if name else context.run.resources
    name = name or f"_{node.name}"
    key = f"{node.attrs['container'].decode()}/table/{name}"
    table = resources.get(key)
    if table is None:
        table = resources.setdefault(key, make(key_dtype, value_dtype))
    if (table.key_dtype, table.value_dtype) != (key_dtype, value_dtype):
        raise invalid(
            f"Conflicting key/value dtypes {key_dtype.name}->{value_dtype.name} with {table.key_dtype.name}-"
            f"{table.value_dtype.name} for table {name}"
        )
    return table


def _plain(context: Any) -> Table:
    kind = StaticTable if context.op.type.startswith("HashTable") else MutableTable
    return _resource(context, kind)


def _of_tensors(context: object, *, value_shape: Any) -> Table:
    sizes = value_shape.sizes
    if sizes is None or len(sizes) != 1 or None in sizes:
        raise invalid(f"Default value must be a vector, got shape {shape_text(sizes)}")
    return _resource(context, functools.partial(MutableTable, value_shape=sizes))


def _dense(context: object, empty_key: Any, deleted_key: Any, *, value_shape: Any, initial_num_buckets: int, max_load_factor: float) -> Table:
    return _resource(
        context, functools.partial(
            DenseTable, empty_key=empty_key, deleted_key=deleted_key, value_shape=value_shape.sizes,
            num_buckets=initial_num_buckets, max_load_factor=max_load_factor,
        ),
    )  # fmt: skip


def _dense_v1(context: Any, empty_key: Any, *, value_shape: Any, initial_num_buckets: int, max_load_factor: float) -> Table:
    raise invalid("Unknown input name: deleted_key (only MutableDenseHashTableV2 has it)")


_NAMES = (
    'container: string = "", shared_name: string = "", use_node_name_sharing: bool = False, key_dtype: type, '
    "value_dtype: type"
)
_DENSE = f"{_NAMES}, value_shape: shape = [], initial_num_buckets: int = 131072, max_load_factor: float = 0.8"
for _type, _text, _kernel in (
    ("HashTable", f"(*, {_NAMES})", _plain),
    ("MutableHashTable", f"(*, {_NAMES})", _plain),
    ("MutableHashTableOfTensors", f"(*, {_NAMES}, value_shape: shape = [])", _of_tensors),
):
    _add(_type, f"{_text} -> (table_handle: Ref(string))", shape=lambda c: [(2,)], kernel=_kernel, effects=Effects(creates=True), facts=NAMES_RESOURCE)
    _add(f"{_type}V2", f"{_text} -> (table_handle: resource)", shape=si.scalar, kernel=_kernel, effects=Effects(creates=True), facts=NAMES_RESOURCE)


def _dense_shape(c: si.InferenceContext) -> list:
    si.with_rank_at_most(c.inputs[0], 1)
    return [()]


_add("MutableDenseHashTable", f"(empty_key: key_dtype, *, {_DENSE}) -> (table_handle: Ref(string))",
     shape=lambda c: [(2,)], kernel=_dense_v1, effects=Effects(creates=True))  # fmt: skip
_add("MutableDenseHashTableV2", f"(empty_key: key_dtype, deleted_key: key_dtype, *, {_DENSE}) -> (table_handle: resource)",
     shape=_dense_shape, kernel=_dense, effects=Effects(creates=True))  # fmt: skip


# ---- reading ----


def _known_shapes(c: si.InferenceContext, key_attr: str, value_attr: str) -> tuple[si.Sizes, si.Sizes] | None:
    """The shapes of one key and of one value, where the graph tells; ValueError where the dtypes are not the node's."""
    node = table_op(c.op.inputs[0])
    if node is None or node.type == "HashTableV2" or not node.type.endswith("V2"):
        return None
    for mine, attr in ((node.attrs["key_dtype"], key_attr), (node.attrs["value_dtype"], value_attr)):
        if c.attr(attr) is not mine:
            raise ValueError(f"Trying to read value with wrong dtype. Expected {mine.name} got {c.attr(attr).name}")
    key_sizes = node.inputs[0]._sizes if node.type.startswith("MutableDense") else ()
    return key_sizes, (node.attrs["value_shape"].sizes if "value_shape" in node.attrs else ())


def _find_shape(c: si.InferenceContext) -> list:
    _handle_sizes(c)
    si.with_rank_at_most(c.inputs[2], 1)
    known, keys = _known_shapes(c, "Tin", "Tout"), c.inputs[1]
    if known is None or keys is None or None in known:
        return [None]
    if len(keys) < len(known[0]):
        raise ValueError(f"Expected keys to have suffix {shape_text(known[0])} but saw shape: {shape_text(keys)}")
    return [keys[: len(keys) - len(known[0])] + known[1]]


def _find(context: Any, table: Table, keys: object, default: object) -> Any:
    table.check_types(context.op.attrs["Tin"], context.op.attrs["Tout"])
    keys, default = np.asarray(keys), np.asarray(default)
    table.check_keys(keys)
    table.check_default(default)
    return table.find(keys, default)


def _export_shape(c: si.InferenceContext) -> list:
    _handle_sizes(c)
    known = _known_shapes(c, "Tkeys", "Tvalues")
    return [(None,), None if known is None or known[1] is None else (None, *known[1])]


def _size_shape(c: si.InferenceContext) -> list:
    _handle_sizes(c)
    return [()]


# ---- writing ----


def _no_output(c: si.InferenceContext) -> list:
    _handle_sizes(c)
    return []


def _pairs_shape(c: si.InferenceContext) -> list:
    _handle_sizes(c)
    si.with_rank(c.inputs[1], 1)
    si.merge(c.inputs[1], c.inputs[2])
    return []


def _import_shape(c: si.InferenceContext) -> list:
    """As 1.15's, which asks for vectors: a dense table, whose keys are a matrix, is imported eagerly or from unknown shapes."""
    return _pairs_shape(c) if c.op.type.endswith("V2") and not c.op.graph.is_program else _no_output(c)


def _remove_shape(c: si.InferenceContext) -> list:
    si.with_rank_at_least(c.inputs[1], 1)
    return _no_output(c)


def _file_shape(c: si.InferenceContext) -> list:
    si.with_rank(c.inputs[1], 0)
    return _no_output(c)


def _insert(context: Any, table: Table, keys: object, values: object) -> None:
    table.check_types(context.op.attrs["Tin"], context.op.attrs["Tout"])
    keys, values = np.asarray(keys), np.asarray(values)
    table.check_pairs(keys, values)
    table.insert(keys, values)


def _import(context: Any, table: Table, keys: object, values: object) -> None:
    table.check_types(context.op.attrs["Tin"], context.op.attrs["Tout"])
    keys, values = np.asarray(keys), np.asarray(values)
    table.check_import(keys, values)
    table.import_values(keys, values)


def _remove(context: Any, table: Table, keys: object) -> None:
    table.check_types(context.op.attrs["Tin"])
    keys = np.asarray(keys)
    table.check_keys(keys)
    table.remove(keys)


def _initializable(context: Any, table: Table) -> StaticTable:
    if not table.is_initializable:
        raise invalid(f"Table {context.op.inputs[0].op.name} is not initializable")
    return table


def _initialize(context: Any, table: Table, keys: Any, values: Any) -> None:
    static = _initializable(context, table)
    static.check_types(context.op.attrs["Tkey"], context.op.attrs["Tval"])
    for array, name in ((keys, "Keys"), (values, "Values")):
        if array.ndim != 1:
            raise invalid(f"{name} must be a vector, but received shape{shape_text(array.shape)}")
    if keys.size != values.size:
        raise invalid(f"Keys and values must have the same size {keys.size} vs {values.size}")
    static.import_values(keys, values)


def _initialize_from_file(context: object, table: Table, filename: object, *, key_index: int, value_index: int, vocab_size: int, delimiter: str) -> None:
    text_file.initialize(_initializable(context, table), np.asarray(filename), key_index, value_index, vocab_size, delimiter)


_FILE_ATTRS = 'key_index: int >= -2, value_index: int >= -2, vocab_size: int >= -1 = -1, delimiter: string = "\\t"'
for _version, _handle in (("", "Ref(string)"), ("V2", "resource")):
    _table = f"(table_handle: {_handle}"
    for _type, _text, _shape, _kernel in (
        ("LookupTableFind", "keys: Tin, default_value: Tout, *, Tin: type, Tout: type) -> (values: Tout)", _find_shape, _find),
        ("LookupTableInsert", "keys: Tin, values: Tout, *, Tin: type, Tout: type) -> ()", _no_output, _insert),
        ("LookupTableImport", "keys: Tin, values: Tout, *, Tin: type, Tout: type) -> ()", _import_shape, _import),
        ("InitializeTable", "keys: Tkey, values: Tval, *, Tkey: type, Tval: type) -> ()", _pairs_shape, _initialize),
        ("InitializeTableFromTextFile", f"filename: string, *, {_FILE_ATTRS}) -> ()", _file_shape, _initialize_from_file),
    ):  # fmt: skip
        _add(_type + _version, f"{_table}, {_text}", shape=_shape, kernel=_kernel, effects=EXTERNAL)
    _add("LookupTableExport" + _version, f"{_table}, *, Tkeys: type, Tvalues: type) -> (keys: Tkeys, values: Tvalues)",
         shape=_export_shape, gradient=_EXPORTED if _version else _NO_GRADIENT, effects=EXTERNAL,
         kernel=lambda context, table: table.export_values())  # fmt: skip
    _add("LookupTableSize" + _version, f"{_table}) -> (size: int64)", shape=_size_shape, effects=EXTERNAL,
         kernel=lambda context, table: np.int64(table.size()))  # fmt: skip
_add("LookupTableRemoveV2", "(table_handle: resource, keys: Tin, *, Tin: type) -> ()", shape=_remove_shape, kernel=_remove,
     effects=EXTERNAL)  # fmt: skip
