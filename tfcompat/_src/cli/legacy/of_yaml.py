"""PyYAML: `load` without a Loader, an error since 6.0."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tfcompat._src.cli.legacy.keywords import Tables


def _with_any_loader(load: Callable[..., Any], usual: object) -> Callable[..., Any]:
    @functools.wraps(load)
    def wrapped(stream: object, Loader: object = usual) -> Any:  # noqa: N803 (its name)
        return load(stream, Loader)

    return wrapped


ADDED: Tables = {}
REPLACED: Tables = {
    "yaml": lambda yaml: {yaml: {name: _with_any_loader(getattr(yaml, name), yaml.FullLoader) for name in ("load", "load_all")}}
}
MOVED: dict[str, str] = {}
