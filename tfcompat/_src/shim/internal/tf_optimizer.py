"""`tensorflow.python.grappler.tf_optimizer`: prunes a graph. tfcompat has no Grappler: its planner and XLA optimize each run."""

from __future__ import annotations

from tfcompat._src.graph import graph_util
from tfcompat._src.proto import messages


def OptimizeGraph(  # noqa: N802  # TensorFlow's name
    config_proto: object, metagraph: messages.MetaGraphDef, verbose: bool = True, graph_id: bytes = b"graph_to_optimize", cluster: object = None,
    strip_default_attributes: bool = False,
) -> messages.GraphDef:  # fmt: skip
    """Returns the GraphDef of a MetaGraphDef without the nodes that its collection train_op does not depend on; makes no other optimization.

    Args:
      metagraph: has the graph_def, and the names of the wanted tensors in the collection train_op.
      config_proto, verbose, graph_id, cluster, strip_default_attributes: options of Grappler, which have no effect.
    """
    wanted = metagraph.collection_def["train_op"].node_list.value if "train_op" in metagraph.collection_def else ()
    return graph_util.extract_sub_graph(metagraph.graph_def, [name.split(":")[0] for name in wanted]) if wanted else metagraph.graph_def
