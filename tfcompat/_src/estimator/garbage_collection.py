"""Which exported folders are kept: rules that choose among paths by their version."""

from __future__ import annotations

import heapq
import os
from collections.abc import Callable
from typing import Any, NamedTuple

from tfcompat._src.platform import compat, file_io

Rule = Callable[[list["Path"]], list["Path"]]


class Path(NamedTuple):
    """A path and its version, an int or None."""

    path: str
    export_version: Any


def _largest_export_versions(n: int) -> Rule:
    """A rule that keeps the `n` largest versions."""

    def keep(paths: list[Path]) -> list[Path]:
        versions = [(path.export_version, i) for i, path in enumerate(paths) if path.export_version is not None]
        return sorted(paths[i] for _, i in heapq.nlargest(n, versions))

    return keep


def _one_of_every_n_export_versions(n: int) -> Rule:
    """A rule that keeps the largest version of each interval (kn, (k+1)n]; 0 belongs to the first one."""

    def keep(paths: list[Path]) -> list[Path]:
        kept: dict[int, Path] = {}
        for path in paths:
            version = path.export_version
            if version is None:
                continue
            interval = (version - 1) // n if version else 0
            if interval not in kept or kept[interval].export_version < version:
                kept[interval] = path
        return sorted(kept.values())

    return keep


def _mod_export_version(n: int) -> Rule:
    """A rule that keeps versions which are multiples of `n`."""
    return lambda paths: sorted(path for path in paths if path.export_version % n == 0)


def _union(lf: Rule, rf: Rule) -> Rule:
    """A rule that keeps what either of two keeps."""
    return lambda paths: sorted({*lf(paths), *rf(paths)})


def _negation(f: Rule) -> Rule:
    """A rule that keeps what another one does not."""
    return lambda paths: sorted({*paths} - {*f(paths)})


def _get_paths(base_dir: object, parser: Callable[[Path], Path | None]) -> list[Path]:
    """What a folder holds, sorted.

    Args:
      base_dir: the folder.
      parser: gives a path its version, or None for one that does not count.
    """
    base = compat.as_str_any(base_dir)
    names = (compat.as_str_any(name).removesuffix("/") for name in file_io.listdir(base_dir))
    found = (parser(Path(os.path.join(base, name), None)) for name in names)
    return sorted(path for path in found if path)
