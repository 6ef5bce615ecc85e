"""The tables of names that changed between the API of TensorFlow 1 and 2."""

from __future__ import annotations

from tfcompat._src.tools.compatibility.api_changes import messages, table

addons_symbol_mappings: dict[str, str] = table("addons")
manual_symbol_renames: dict[str, str] = table("manual_renames")
symbol_renames: dict[str, str] = {**table("renames"), **manual_symbol_renames}
renames = symbol_renames
reorders: dict[str, list[str]] = table("reorders")
MODULE_DEPRECATIONS = messages("module_deprecations")
