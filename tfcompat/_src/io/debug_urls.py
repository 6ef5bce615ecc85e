"""Where debug ops write: a URL's scheme says whether a dump goes into files or over gRPC."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from tfcompat._src.base import confinement, errors
from tfcompat._src.io import debug_files

GRPC_URL = "grpc://"
STREAMS = "tfcompat._src.io.debug_streams"
"""Imported for the first URL of gRPC, which it loads."""


def check(url: str) -> None:
    """Raises UnavailableError where the debugger does not know the scheme of a URL."""
    if not url.lower().startswith((debug_files.FILE_URL, GRPC_URL)):
        raise errors.UnavailableError(None, None, f"Invalid debug target URL: {url}")


def writer(url: str) -> Any:
    """Returns the module that writes dumps to a URL: it has write_tensor, write_graph and write_core_metadata."""
    check(url)
    if is_grpc(url):
        confinement.require_unconfined(f"connections to {url}")
    return importlib.import_module(STREAMS) if is_grpc(url) else debug_files


def is_grpc(url: str) -> bool:
    """Whether dumps of a URL go over gRPC."""
    return url.lower().startswith(GRPC_URL)


def open_urls(urls: Sequence[str], watch_key: str, gated: bool) -> Sequence[str]:
    """Returns the URLs that a debug op writes to: of a gated one those for files, and those whose server asks for the watch key."""
    return [url for url in urls if not is_grpc(url) or writer(url).is_open(url, watch_key)] if gated else urls


def close(urls: Sequence[str]) -> None:
    """Ends the streams of URLs at the end of a run."""
    for url in filter(is_grpc, urls):
        writer(url).close(url)
