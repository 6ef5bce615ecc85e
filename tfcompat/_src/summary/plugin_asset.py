"""Files that a plugin of TensorBoard wants beside the event file of a graph."""

from __future__ import annotations

import abc
from typing import Any

from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_default_graph

_PLUGIN_ASSET_PREFIX = "__tensorboard_plugin_asset__"


class PluginAsset(abc.ABC):
    """The files of one plugin, which has the class attribute `plugin_name`; a graph holds one object of a class."""

    plugin_name: Any = None

    @abc.abstractmethod
    def assets(self) -> dict[str, str]:
        """Name and content of each file; asked for when a FileWriter writes the graph."""
        raise NotImplementedError


def _only_member(graph: Graph, collection: str) -> Any:
    """The member of a collection that has one or none."""
    found = graph.get_collection(collection)
    if len(found) > 1:
        raise ValueError(f"Collection for {collection} had {len(found)} items, expected 1")
    return found[0] if found else None


def get_plugin_asset(plugin_asset_cls: type[PluginAsset], graph: Graph | None = None) -> PluginAsset:
    """The object of a PluginAsset class that a graph (by default the default graph) holds, made if needed.

    Raises:
      ValueError: the class has no name, or one that another class of the graph has.
    """
    graph = graph or get_default_graph()
    name = plugin_asset_cls.plugin_name
    if not name:
        raise ValueError(f"Class {plugin_asset_cls.__name__} has no plugin_name")
    found = _only_member(graph, _PLUGIN_ASSET_PREFIX + name)
    if found is None:
        found = plugin_asset_cls()
        graph.add_to_collection(_PLUGIN_ASSET_PREFIX + name, found)
        graph.add_to_collection(_PLUGIN_ASSET_PREFIX, name)
    elif not isinstance(found, plugin_asset_cls):
        other = type(found).__name__
        raise ValueError(f"Plugin name collision between classes {plugin_asset_cls.__name__} and {other}")
    return found


def get_all_plugin_assets(graph: Graph | None = None) -> list[PluginAsset]:
    """All PluginAsset objects of a graph, by default the default graph."""
    graph = graph or get_default_graph()
    return [_only_member(graph, _PLUGIN_ASSET_PREFIX + name) for name in graph.get_collection(_PLUGIN_ASSET_PREFIX)]
