import io

import networkx as nx
import numpy as np

ordered = nx.OrderedMultiDiGraph()
ordered.add_node(3)
ordered.add_edge(1, 3)
assert list(ordered.nodes) == [3, 1] and isinstance(ordered, nx.MultiDiGraph) and ordered.node[3] == {}

graph = nx.Graph()
graph.add_edges_from([(0, 1), (2, 3), (3, 4)], weight=2.0)
assert isinstance(nx.to_numpy_matrix(graph), np.matrix) and nx.to_numpy_matrix(graph)[3, 4] == 2
assert list(nx.from_numpy_matrix(np.eye(3)[::-1]).edges(data=True)) == [(0, 2, {"weight": 1.0}), (1, 1, {"weight": 1.0})]
assert [sorted(part) for part in nx.connected_component_subgraphs(graph)] == [[0, 1], [2, 3, 4]]
assert nx.info(graph).splitlines()[1:] == ["Type: Graph", "Number of nodes: 5", "Number of edges: 3", "Average degree:   1.2000"]

adjacency = nx.adjacency_matrix(graph)
assert (adjacency * adjacency)[3, 3] == 8 and nx.to_scipy_sparse_matrix(graph, format="coo").format == "coo"

file = io.BytesIO()
nx.write_gpickle(graph, file)
file.seek(0)
assert list(nx.read_gpickle(file).edges) == [(0, 1), (2, 3), (3, 4)]
