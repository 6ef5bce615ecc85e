"""Names of what a run fetches and is fed."""

from __future__ import annotations

import collections
import json

GRPC_URL_PREFIX = "grpc://"
RunKey = collections.namedtuple("RunKey", ["feed_names", "fetch_names"])


def get_graph_element_name(elem: object) -> str:
    """The name of an element of a graph, or its text where it has none, as a SparseTensor."""
    return elem.name if hasattr(elem, "name") else str(elem)


def get_flattened_names(feeds_or_fetches: object) -> list[str]:
    """The names of all elements in nested lists, tuples and values of dicts."""
    if isinstance(feeds_or_fetches, dict):
        feeds_or_fetches = list(feeds_or_fetches.values())
    if isinstance(feeds_or_fetches, list | tuple):
        return [name for element in feeds_or_fetches for name in get_flattened_names(element)]
    return [get_graph_element_name(feeds_or_fetches)]


def get_run_key(feed_dict: object, fetches: object) -> str:
    """The names of feeds and of fetches, as a JSON list of two lists."""
    return json.dumps(RunKey(get_flattened_names(feed_dict), get_flattened_names(fetches)))
