"""tfcompat.interop.to_jax_from: a function of JAX from a file, a SavedModel, a frozen graph or a checkpoint with its meta graph."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.graph import Graph
from tfcompat._src.interop.to_jax import JaxFunction, Params, to_jax
from tfcompat._src.nodes.graph_import import import_graph_def
from tfcompat._src.proto import messages
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.saved_model import loader
from tfcompat._src.saved_model.files import contains_saved_model
from tfcompat._src.train.saver import import_meta_graph


@export("interop.to_jax_from")
def to_jax_from(
    path: str | os.PathLike[str], fetches: Any = None, feeds: Sequence[Any] | None = None, *, signature: str = "serving_default",
    tags: Sequence[str] = ("serve",), **options: Any,
) -> tuple[JaxFunction, Params]:  # fmt: skip
    """`tfcompat.to_jax` of a graph in files.

    Args:
      path: the folder of a SavedModel; a checkpoint's prefix, beside which `<path>.meta` is; or a file with a GraphDef, as of a frozen graph.
      fetches, feeds: as of to_jax, by name ("dense/BiasAdd:0"). A SavedModel can do without: the results of the signature, in a dict by their
        names there, and its inputs in the order of their names.
      signature, tags: of the SavedModel. **options: further arguments of to_jax.

    Returns:
      fn and params, as of to_jax.

    Raises:
      ValueError: there are no fetches, or the SavedModel has no such signature. OSError: there is no such file.
      NotImplementedError: as of to_jax.
    """
    path = os.fspath(path)
    graph = Graph()
    with graph.as_default(), Session(graph=graph) as session:
        if contains_saved_model(path):
            meta_graph = loader.load(session, list(tags), path)
            if fetches is None:
                fetches, feeds = _of_signature(meta_graph, signature, path)
        elif os.path.exists(f"{path}.meta"):
            saver = import_meta_graph(f"{path}.meta")
            if saver is not None:
                saver.restore(session, path)
        else:
            definition = messages.GraphDef()
            with open(path, "rb") as source:
                definition.ParseFromString(source.read())
            import_graph_def(definition, name="")
        if fetches is None:
            raise ValueError(f"{path} has no signatures: say what to fetch and feed, by name.")
        return to_jax(fetches, feeds or (), session, **options)


def _of_signature(meta_graph: Any, name: str, path: str) -> tuple[dict[str, str], list[str]]:
    """What a signature fetches, by the names of its results, and what it feeds, in the order of the names of its inputs."""
    there = meta_graph.signature_def
    if name not in there:
        raise ValueError(f"{path} has no signature {name!r}, but {sorted(there)}.")
    found = there[name]
    return {key: info.name for key, info in sorted(found.outputs.items())}, [info.name for _, info in sorted(found.inputs.items())]
