"""pytest: the test files that it compiles itself, in which sources' lost methods are restored too."""

from __future__ import annotations

import ast
import functools
from typing import Any

from tfcompat._src.cli.legacy import sources
from tfcompat._src.cli.legacy.keywords import Tables


def _rewritten(rewrite: Any) -> dict[Any, dict[str, Any]]:
    """The compiled files have a name of their own, since they need what this process restores."""
    rewrite_asserts = rewrite.rewrite_asserts

    @functools.wraps(rewrite_asserts)
    def restoring(tree: ast.Module, source: bytes, module_path: str | None = None, *arguments: Any) -> None:
        sources.rewrite(tree, source, module_path or "")
        rewrite_asserts(tree, source, module_path, *arguments)

    return {rewrite: dict(rewrite_asserts=restoring, PYC_TAIL=f".{rewrite.PYTEST_TAG}-tfcompat{rewrite.PYC_EXT}")}


ADDED: Tables = {}
REPLACED: Tables = {"_pytest.assertion.rewrite": _rewritten}
MOVED: dict[str, str] = {}
