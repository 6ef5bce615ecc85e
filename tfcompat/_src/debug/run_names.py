"""Names of what a run is given."""

from __future__ import annotations

import collections
import json
from typing import Any

GRPC_URL_PREFIX = "grpc://"
RunKey = collections.namedtuple("RunKey", ["feed_names", "fetch_names"])


def get_graph_element_name(elem: Any) -> str:
    """Returns the name of a tensor, operation or variable; the text of what has no name, as a SparseTensor."""
    return elem.name if hasattr(elem, "name") else str(elem)


def get_flattened_names(feeds_or_fetches: Any) -> list[str]:
    """Returns the names in nested lists, tuples and dicts, of a dict those of its values."""
    if isinstance(feeds_or_fetches, dict):
        feeds_or_fetches = list(feeds_or_fetches.values())
    if isinstance(feeds_or_fetches, (list, tuple)):
        return [name for each in feeds_or_fetches for name in get_flattened_names(each)]
    return [get_graph_element_name(feeds_or_fetches)]


def get_run_key(feed_dict: Any, fetches: Any) -> str:
    """Returns the names of feeds and fetches as JSON: a list of two lists."""
    return json.dumps(RunKey(get_flattened_names(feed_dict), get_flattened_names(fetches)))
