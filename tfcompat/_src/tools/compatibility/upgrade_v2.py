"""The change of TensorFlow's API from version 1 to 2, as `tf_upgrade_v2` of TensorFlow 1.15 makes it."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any

from tfcompat._src.tools.compatibility import call_changes, layer_changes
from tfcompat._src.tools.compatibility.api_changes import (
    ERROR,
    INFO,
    AnalysisResult,
    APIAnalysisSpec,
    Log,
    NoUpdateSpec,
    messages,
    table,
)
from tfcompat._src.tools.compatibility.editor import analyzed


class UnaliasedTFImport(AnalysisResult):
    """`import tensorflow` without `as tf`."""

    def __init__(self) -> None:
        self.log_level = ERROR
        self.log_message = (
            "The tf_upgrade_v2 script detected an unaliased `import tensorflow`. "
            "The script can only run when importing with `import tensorflow as tf`."
        )


class VersionedTFImport(AnalysisResult):
    """An import of one version's API as `tf`."""

    def __init__(self, version: str) -> None:
        self.log_level = INFO
        self.log_message = f"Not upgrading symbols because `tensorflow.{version}` was directly imported as `tf`."


class TFAPIImportAnalysisSpec(APIAnalysisSpec):
    """The imports for which programs are not upgraded."""

    def __init__(self) -> None:
        self.symbols_to_detect = {}
        self.imports_to_detect = {
            ("tensorflow", None): UnaliasedTFImport(),
            ("tensorflow.compat.v1", "tf"): VersionedTFImport("compat.v1"),
            ("tensorflow.compat.v2", "tf"): VersionedTFImport("compat.v2"),
        }


class TFAPIChangeSpec(NoUpdateSpec):
    """What changes in TensorFlow 2."""

    def __init__(self) -> None:
        super().__init__()
        self.function_keyword_renames = table("keyword_renames")
        self.symbol_renames = {**table("renames"), **table("manual_renames")}
        self.reordered_function_names = set(table("reordered_names"))
        self.manual_function_reorders = table("manual_reorders")
        self.function_reorders = {**table("reorders"), **self.manual_function_reorders}
        self.function_warnings = messages("warnings")
        self.function_arg_warnings = _argument_warnings()
        self.function_transformers = {name: _change(*row) for name, row in table("call_changes").items()}
        self.module_deprecations = messages("module_deprecations")

    def preprocess(self, root_node: ast.Module) -> tuple[list[Log], list[Log]]:
        """Turns all changes but warnings of modules off for a program that imports TensorFlow as one version, or not as `tf`."""
        found = analyzed(root_node, TFAPIImportAnalysisSpec())
        if found.results:
            NoUpdateSpec.__init__(self)
            self.module_deprecations = messages("module_deprecations")
        return found.log, found.warnings_and_errors

    def clear_preprocessing(self) -> None:
        """Turns all changes on again."""
        TFAPIChangeSpec.__init__(self)


def _argument_warnings() -> dict[str, dict[tuple[str, int | None], tuple[str, str]]]:
    rows: dict[str, dict[tuple[str, int | None], tuple[str, str]]] = {}
    for name, argument, position, level, message in table("argument_warnings"):
        rows.setdefault(name, {})[argument, position] = (level, message)
    return rows


def _change(kind: str, options: dict[str, Any]) -> Callable[..., Any]:
    function = getattr(layer_changes, kind, None) or getattr(call_changes, kind)
    return functools.partial(function, **options)
