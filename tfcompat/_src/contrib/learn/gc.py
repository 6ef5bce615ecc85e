"""tf.contrib.learn's rules for which exported folders are kept."""

from __future__ import annotations

from tfcompat._src.estimator import garbage_collection
from tfcompat._src.estimator.garbage_collection import Path

__all__ = [
    "Path", "get_paths", "largest_export_versions", "mod_export_version", "negation", "one_of_every_n_export_versions",
    "union",
]  # fmt: skip
largest_export_versions = garbage_collection._largest_export_versions
one_of_every_n_export_versions = garbage_collection._one_of_every_n_export_versions
mod_export_version = garbage_collection._mod_export_version
union = garbage_collection._union
negation = garbage_collection._negation
get_paths = garbage_collection._get_paths
