"""networkx: what 2.4 and 3.0 removed, and matrices where 3.0 gives arrays, whose `*` is another product."""

from __future__ import annotations

import functools
import importlib
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.cli.legacy.keywords import Tables


def _read_gpickle(path: Any) -> Any:
    if hasattr(path, "read"):
        return pickle.load(path)
    with open(path, "rb") as file:
        return pickle.load(file)


def _write_gpickle(G: Any, path: Any, protocol: int = pickle.HIGHEST_PROTOCOL) -> None:  # noqa: N803 (its name)
    if hasattr(path, "write"):
        return pickle.dump(G, path, protocol)
    with open(path, "wb") as file:
        pickle.dump(G, file, protocol)


def _parts(components: Callable[[Any], Any]) -> Callable[..., Iterator[Any]]:
    """A function that gives the subgraphs of some components of a graph."""

    def subgraphs(G: Any, copy: bool = True) -> Iterator[Any]:  # noqa: N803 (its name)
        for nodes in components(G):
            yield G.subgraph(nodes).copy() if copy else G.subgraph(nodes)

    return subgraphs


def _info(G: Any) -> str:  # noqa: N803 (its name)
    """What 2.5 says of a graph."""
    nodes, edges = G.number_of_nodes(), G.number_of_edges()
    lines = [f"Name: {G.name}", f"Type: {type(G).__name__}", f"Number of nodes: {nodes}", f"Number of edges: {edges}"]
    if nodes and G.is_directed():
        lines += [f"Average in degree: {edges / nodes:8.4f}", f"Average out degree: {edges / nodes:8.4f}"]
    else:
        lines.append(f"Average degree: {2 * edges / nodes:8.4f}" if nodes else "")
    return "\n".join(lines)


def _as_matrix(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives a sparse matrix in place of a sparse array."""

    @functools.wraps(function)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        array = function(*arguments, **options)
        return getattr(importlib.import_module("scipy.sparse"), f"{array.format}_matrix")(array)

    return wrapped


def _added(nx: Any) -> dict[Any, dict[str, Any]]:
    kinds = {
        f"Ordered{kind.__name__}": type(f"Ordered{kind.__name__}", (kind,), {"__module__": "networkx"})
        for kind in (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)
    }
    parts = {
        f"{kind}_component_subgraphs": _parts(getattr(nx, f"{kind}_components"))
        for kind in ("connected", "strongly_connected", "weakly_connected", "biconnected")
    }
    matrices = dict(
        from_numpy_matrix=nx.from_numpy_array, to_numpy_matrix=lambda *arguments, **options: np.asmatrix(nx.to_numpy_array(*arguments, **options)),
        from_scipy_sparse_matrix=nx.from_scipy_sparse_array, to_scipy_sparse_matrix=_as_matrix(nx.to_scipy_sparse_array),
    )  # fmt: skip
    names = dict(read_gpickle=_read_gpickle, write_gpickle=_write_gpickle, info=_info, **kinds, **parts, **matrices)
    return {nx: names, nx.Graph: dict(node=property(lambda graph: graph.nodes))}


def _replaced(nx: object) -> dict[Any, dict[str, Any]]:
    names = ("adjacency_matrix", "incidence_matrix", "laplacian_matrix", "normalized_laplacian_matrix")
    return {nx: {name: _as_matrix(getattr(nx, name)) for name in names}}


ADDED: Tables = {"networkx": _added}
REPLACED: Tables = {"networkx": _replaced}
MOVED: dict[str, str] = {}
