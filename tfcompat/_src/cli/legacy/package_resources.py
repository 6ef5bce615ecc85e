"""pkg_resources, which setuptools had until 82: versions and files of installed packages, for `tfcompat run` only."""

from __future__ import annotations

import importlib.metadata
import importlib.resources
import io
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import Any


class Distribution:
    """An installed distribution. Attributes: project_name, key (in lower case), version."""

    def __init__(self, name: str) -> None:
        found = importlib.metadata.distribution(name)
        self.project_name, self.version = found.metadata["Name"], found.version
        self.key = self.project_name.lower()


def get_distribution(dist: str) -> Distribution:
    """The distribution of a requirement; DistributionNotFound where it is not installed."""
    return Distribution(re.split(r"[\s<>=!~;\[]", dist.strip(), maxsplit=1)[0])


def _path(package_or_requirement: str, resource_name: str) -> pathlib.Path:
    module = sys.modules.get(package_or_requirement)
    if module is not None and not hasattr(module, "__path__"):  # a file, or __main__: beside it
        return pathlib.Path(module.__file__ or "").parent / resource_name
    return pathlib.Path(str(importlib.resources.files(package_or_requirement))) / resource_name


def resource_filename(package_or_requirement: str, resource_name: str) -> str:
    return str(_path(package_or_requirement, resource_name))


def resource_exists(package_or_requirement: str, resource_name: str) -> bool:
    return _path(package_or_requirement, resource_name).exists()


def resource_string(package_or_requirement: str, resource_name: str) -> bytes:
    return _path(package_or_requirement, resource_name).read_bytes()


def resource_stream(package_or_requirement: str, resource_name: str) -> io.BytesIO:
    return io.BytesIO(resource_string(package_or_requirement, resource_name))


def resource_listdir(package_or_requirement: str, resource_name: str) -> list[str]:
    return [path.name for path in _path(package_or_requirement, resource_name).iterdir()]


def iter_entry_points(group: str, name: str | None = None) -> Iterator[Any]:
    return (point for point in importlib.metadata.entry_points(group=group) if name in (None, point.name))


class EntryPoint(importlib.metadata.EntryPoint):
    """`name = module:attributes`, as gym names its environments."""

    @classmethod
    def parse(cls, src: str) -> EntryPoint:
        name, value = src.split("=", 1)
        return cls(name.strip(), value.strip(), "")

    def load(self, require: bool = True) -> Any:
        """What it names. `require` asked whether its distribution is there: these have none."""
        return super().load()

    def resolve(self) -> Any:
        return super().load()


PKG_RESOURCES: dict[str, Any] = dict(
    Distribution=Distribution, DistributionNotFound=importlib.metadata.PackageNotFoundError, get_distribution=get_distribution,
    resource_filename=resource_filename, resource_exists=resource_exists, resource_string=resource_string,
    resource_stream=resource_stream, resource_listdir=resource_listdir, iter_entry_points=iter_entry_points, EntryPoint=EntryPoint,
)  # fmt: skip
"""The names of the module."""
