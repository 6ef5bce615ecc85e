"""The name scope and the tag of a summary."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator
from typing import Any

from tfcompat._src.graph.scopes import add_to_collection, name_scope
from tfcompat._src.platform import logging

_INVALID_TAG_CHARACTERS = re.compile(r"[^-/\w\.]")


def collect(val: object, collections: Iterable[Any] | None, default_collections: Iterable[Any]) -> None:
    """Adds a summary to collections."""
    for key in default_collections if collections is None else collections:
        add_to_collection(key, val)


def clean_tag(name: str | None) -> str | None:
    """A name without slashes at its start and with "_" for characters that no node name has."""
    if name is None:
        return None
    cleaned = _INVALID_TAG_CHARACTERS.sub("_", name).lstrip("/")
    if cleaned != name:
        logging.info(f"Summary name {name} is illegal; using {cleaned} instead.")
    return cleaned


@contextlib.contextmanager
def summary_scope(
    name: str | None, family: str | None = None, default_name: str | None = None, values: Iterable[Any] | None = None
) -> Iterator[tuple[str, str]]:
    """A block in the scope of a summary; gives its tag, `family` first, and the name scope."""
    name, family = clean_tag(name), clean_tag(family)
    with name_scope(name if family is None else f"{family}/{name}", default_name, values) as scope:
        tag = scope.rstrip("/")
        yield tag if family is None else f"{family}/{tag}", scope
