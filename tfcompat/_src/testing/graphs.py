"""Comparing graphs, and shapes in the layouts of image ops, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tfcompat as tf
from tfcompat._src.base.export import export
from tfcompat._src.base.registry import get_collection_proto_type
from tfcompat._src.proto import messages

if TYPE_CHECKING:
    from tfcompat._src.graph.graph import Graph


def assert_ops_in_graph(expected_ops: dict[str, str], graph: Any) -> dict[str, Any]:
    """The NodeDefs of the graph by name, of those that `expected_ops` (name -> op type) names.

    Raises:
      ValueError: one is not there or has another op type.
    """
    found = {node.name: node for node in graph.as_graph_def().node if node.name in expected_ops}
    for name, op_type in expected_ops.items():
        if name in found and found[name].op != op_type:
            raise ValueError(f"Expected op for node {name} is different. {op_type} vs {found[name].op}")
    if set(found) != set(expected_ops):
        raise ValueError(f"Not all expected ops are present. Expected {expected_ops.keys()}, found {found.keys()}")
    return found


@export("compat.v2.test.assert_equal_graph_def")
def assert_equal_graph_def_v2(expected: object, actual: object) -> None:
    """`tf.test.assert_equal_graph_def` that leaves out the names that saving and hash tables draw."""
    assert_equal_graph_def(actual, expected, checkpoint_v2=True, hash_table_shared_name=True)


@export("test.assert_equal_graph_def")
def assert_equal_graph_def(
    actual: object, expected: object, checkpoint_v2: bool = False, hash_table_shared_name: bool = False
) -> None:
    """Two GraphDefs hold the same nodes, in any order.

    Args:
      actual: a GraphDef.
      expected: a GraphDef.
      checkpoint_v2: leave out the random names that saving puts into a graph.
      hash_table_shared_name: leave out the shared names of hash tables.

    Raises:
      TypeError: one is no GraphDef.
      AssertionError: they differ.
    """
    found = {}
    for which, graph_def in (("actual", actual), ("expected", expected)):
        if not isinstance(graph_def, messages.GraphDef):
            raise TypeError(f"Expected tf.GraphDef for {which}, got {type(graph_def).__name__}")
        nodes = {node.name: normal(node, checkpoint_v2, hash_table_shared_name) for node in graph_def.node}
        if len(nodes) != len(graph_def.node):
            raise ValueError(f"{which} holds two nodes of one name")
        found[which] = nodes
    for name in sorted(found["actual"].keys() | found["expected"].keys()):
        mine, other = found["actual"].get(name), found["expected"].get(name)
        if mine != other:
            raise AssertionError(f"Node {name!r} differs:\nactual:\n{mine}\nexpected:\n{other}")


def normal(node: Any, checkpoint_v2: bool, hash_table_shared_name: bool) -> Any:
    """A copy of a NodeDef without what differs from run to run."""
    copy = type(node)()
    copy.CopyFrom(node)
    if checkpoint_v2 and copy.op == "Const" and b"_temp_" in copy.attr["value"].tensor.SerializeToString():
        del copy.attr["value"]
    if hash_table_shared_name and "HashTable" in copy.op:
        copy.attr.pop("shared_name", None)
    return copy


def get_node_def_from_graph(node_name: str, graph_def: messages.GraphDef) -> Any:
    """The NodeDef of that name, or None."""
    return next((node for node in graph_def.node if node.name == node_name), None)


def set_producer_version(graph: Graph, producer_version: int) -> None:
    """Makes the graph that of an older TensorFlow, before it has nodes."""
    graph_def = messages.GraphDef()
    graph_def.versions.producer = producer_version
    with graph.as_default():
        tf.import_graph_def(graph_def)
    if graph.graph_def_versions.producer != producer_version:
        raise AssertionError(
            f"the graph has producer version {graph.graph_def_versions.producer}, not {producer_version}"
        )


def permuted(value: Any, order: dict[int, tuple[int, ...]]) -> Any:
    """A tensor transposed, or a list of sizes put in another order, by its rank."""
    rank = value.shape.ndims if isinstance(value, tf.Tensor) else len(value)
    axes = order[rank]
    return tf.transpose(value, axes) if isinstance(value, tf.Tensor) else [value[axis] for axis in axes]


def NHWCToNCHW(input_tensor: object) -> Any:  # noqa: N802
    """Moves channels from last to second place (rank 4 or 5)."""
    return permuted(input_tensor, {4: (0, 3, 1, 2), 5: (0, 4, 1, 2, 3)})


def NCHWToNHWC(input_tensor: object) -> Any:  # noqa: N802
    """Moves channels from second to last place (rank 4 or 5)."""
    return permuted(input_tensor, {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)})


def NHWCToNCHW_VECT_C(input_shape_or_tensor: Any) -> Any:  # noqa: N802
    """Moves channels to second place and splits off groups of four as last dimension (rank 4 or 5).

    Raises:
      ValueError: the channels are no multiple of four.
    """
    value = input_shape_or_tensor
    sizes = value.shape.as_list() if isinstance(value, tf.Tensor) else list(value)
    if sizes[-1] % 4:
        raise ValueError("last dimension of NHWC input must be a multiple of 4 to convert to NCHW_VECT_C")
    grouped = [*sizes[:-1], sizes[-1] // 4, 4]
    order = {5: (0, 3, 1, 2, 4), 6: (0, 4, 1, 2, 3, 5)}
    return permuted(tf.reshape(value, grouped) if isinstance(value, tf.Tensor) else grouped, order)


def NCHW_VECT_CToNHWC(input_shape_or_tensor: Any) -> Any:  # noqa: N802
    """Undoes `NHWCToNCHW_VECT_C` (rank 5 or 6).

    Raises:
      ValueError: the last dimension is not 4.
    """
    value = input_shape_or_tensor
    sizes = value.shape.as_list() if isinstance(value, tf.Tensor) else list(value)
    if sizes[-1] != 4:
        raise ValueError("last dimension of NCHW_VECT_C must be 4")
    moved = permuted(value, {5: (0, 2, 3, 1, 4), 6: (0, 2, 3, 4, 1, 5)})
    joined = [sizes[0], *sizes[2:-1], sizes[1] * 4]
    return tf.reshape(moved, joined) if isinstance(value, tf.Tensor) else joined


def assert_meta_graph_protos_equal(tester: Any, a: Any, b: Any) -> None:
    """Two MetaGraphDefs are equal; the graphs as graphs, collections by the messages or names in them, in any order.

    Args:
      tester: the test case. a, b: MetaGraphDef messages.
    """
    tester.assertEqual(set(a.collection_def), set(b.collection_def))
    for key, value in a.collection_def.items():
        kind = value.WhichOneof("kind")
        tester.assertEqual(kind, b.collection_def[key].WhichOneof("kind"))
        message_type = get_collection_proto_type(key) if kind == "bytes_list" else None
        found = []
        for collection in (value, b.collection_def[key]):
            entries = list(getattr(collection, kind).value) if kind else []
            found.append(sorted(map(str, map(message_type.FromString, entries) if message_type else entries)))
        tester.assertEqual(*found)
    assert_equal_graph_def(a.graph_def, b.graph_def)
    rest = []
    for each in (a, b):
        copy = type(each)()
        copy.CopyFrom(each)
        copy.ClearField("collection_def")
        copy.ClearField("graph_def")
        copy.ClearField("meta_info_def")
        rest.append(copy)
    tester.assertEqual(*rest)
