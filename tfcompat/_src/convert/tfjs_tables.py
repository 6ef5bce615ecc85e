"""Lookup tables of graph models of TensorFlow.js, which runs a graph of its own that fills them before the first prediction."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from tfcompat._src.base import dtypes, errors
from tfcompat._src.base.arrays import NDArray
from tfcompat._src.convert.model import ConversionError
from tfcompat._src.graph.tensor_proto import make_tensor_proto
from tfcompat._src.nodes import raw
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import Session

_FINDS = ("LookupTableFind", "LookupTableFindV2")
_IMPORTS = {"HashTable": "LookupTableImport", "HashTableV2": "LookupTableImportV2"}


def initializer(graph_def: messages.GraphDef, session: Session) -> Any:
    """The GraphDef that fills the tables of `graph_def` with what they hold in a session; without nodes where there are no tables.

    TensorFlow.js knows a table by the name of its node, and runs the nodes whose results nothing takes.

    Raises:
      ConversionError: a table was not initialized in the session.
    """
    found = messages.GraphDef()
    for table in graph_def.node:
        if table.op not in _IMPORTS:
            continue
        kinds = [dtypes.as_dtype(table.attr[name].type) for name in ("key_dtype", "value_dtype")]
        names = [f"{table.name}/{part}_of_table" for part in ("keys", "values")]
        found.node.add().CopyFrom(table)
        for name, kind, array in zip(names, kinds, _content(session, table, kinds)):
            node = found.node.add(name=name, op="Const")
            node.attr["dtype"].type = kind.as_datatype_enum
            node.attr["value"].tensor.CopyFrom(make_tensor_proto(array, kind))
        filling = found.node.add(name=f"{table.name}/fill", op=_IMPORTS[table.op], input=[table.name, *names])
        filling.attr["Tin"].type, filling.attr["Tout"].type = (kind.as_datatype_enum for kind in kinds)
    return found


def adapted(graph_def: messages.GraphDef, vectors: Collection[str]) -> Any:
    """A GraphDef whose tables look vectors up, as TensorFlow.js always does; what they find gets the shape of the keys.

    Shared names of tables, which TensorFlow.js does not use, stay out: they are random.

    Args:
      graph_def: the graph. vectors: the names of the nodes whose keys are vectors already.
    """
    found = messages.GraphDef()
    found.CopyFrom(graph_def)
    del found.node[:]
    for node in graph_def.node:
        found.node.add().CopyFrom(node)
        if node.op in _IMPORTS:
            del found.node[-1].attr["shared_name"]
        if node.op not in _FINDS or node.name in vectors:
            continue
        name, keys = node.name, node.input[1]
        found.node[-1].name = f"{name}/found"
        sizes = found.node.add(name=f"{name}/sizes", op="Shape", input=[keys])
        sizes.attr["T"].type, sizes.attr["out_type"].type = node.attr["Tin"].type, dtypes.int32.as_datatype_enum
        shaped = found.node.add(name=name, op="Reshape", input=[f"{name}/found", f"{name}/sizes"])
        shaped.attr["T"].type, shaped.attr["Tshape"].type = node.attr["Tout"].type, dtypes.int32.as_datatype_enum
    return found


def _content(session: Session, table: Any, kinds: list[dtypes.DType]) -> list[NDArray]:
    """The keys and the values of a table."""
    export = raw.LookupTableExportV2 if table.op == "HashTableV2" else raw.LookupTableExport
    with session.graph.as_default():
        keys, values = export(session.graph.get_tensor_by_name(f"{table.name}:0"), Tkeys=kinds[0], Tvalues=kinds[1])
    try:
        found: list[NDArray] = session.run([keys, values])
    except errors.OpError as error:
        raise ConversionError(f"The table {table.name} holds nothing yet: convert a SavedModel, whose loading fills its tables ({error.message}).") from error
    return found


def filling_nodes(graph_def: messages.GraphDef) -> list[str]:
    """The names of the nodes that fill tables."""
    return [node.name for node in graph_def.node if node.op in _IMPORTS.values()]
