"""The safe way from version 1 of TensorFlow's API to 2: programs keep their names and import tensorflow.compat.v1."""

from __future__ import annotations

from tfcompat._src.tools.compatibility.api_changes import APIChangeSpec, ImportRename, messages, table


class TFAPIChangeSpec(APIChangeSpec):
    """Imports tensorflow.compat.v1 as what was TensorFlow, and turns the behaviour of version 2 off."""

    def __init__(self) -> None:
        self.function_keyword_renames = {}
        self.symbol_renames = {}
        self.change_to_function = {}
        self.function_reorders = {}
        self.function_warnings = messages("safety_warnings")
        self.function_transformers = {}
        self.module_deprecations = messages("module_deprecations")
        self.import_renames = {name: ImportRename(*row) for name, row in table("safety_imports").items()}
        self.inserts_after_imports = {(name, alias): lines for name, alias, lines in table("safety_inserts")}
