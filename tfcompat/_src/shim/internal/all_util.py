"""`tensorflow.python.util.all_util`: removes the names of a module that its docstring does not list as `@@name`."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterable
from typing import Any

__all__ = ["make_all", "remove_undocumented", "reveal_undocumented"]

_LISTED = re.compile(r"^@@(\w+)$", re.MULTILINE)
# By path: the module and the value of each removed name.
_hidden: dict[str, tuple[types.ModuleType, Any]] = {}


def make_all(module_name: str, doc_string_modules: Iterable[types.ModuleType] | None = None) -> list[str]:
    """Returns the names of a module that docstrings list as `@@name`, each on a line of its own.

    Args:
      module_name: The name of an imported module.
      doc_string_modules: The modules whose docstrings are read; None means the module itself.

    Returns:
      A list of str for `__all__`, each name once.

    Defined in tensorflow/python/util/all_util.py of TensorFlow 1.15.
    """
    module = sys.modules[module_name]
    documented = [module] if doc_string_modules is None else doc_string_modules
    names = {name for each in documented for name in _LISTED.findall(each.__doc__ or "")}
    return sorted(names & set(dir(module)))


def remove_undocumented(
    module_name: str,
    allowed_exception_list: Iterable[str] | None = None,
    doc_string_modules: Iterable[types.ModuleType] | None = None,
) -> None:
    """Removes the names of a module that are not listed in docstrings (see `make_all`) and do not begin with an underscore.

    Args:
      module_name: The name of an imported module.
      allowed_exception_list: Other names that stay.
      doc_string_modules: The modules whose docstrings are read; None means the module itself.

    Defined in tensorflow/python/util/all_util.py of TensorFlow 1.15.
    """
    module = sys.modules[module_name]
    # The values are kept for `reveal_undocumented`.
    stay = {*make_all(module_name, doc_string_modules), *(allowed_exception_list or ())}
    for name in dir(module):
        if name not in stay and not name.startswith("_"):
            _hidden[f"{module_name}.{name}"] = module, getattr(module, name)
            delattr(module, name)


def reveal_undocumented(symbol_name: str, target_module: types.ModuleType | None = None) -> None:
    """Restores a name that `remove_undocumented` removed.

    Args:
      symbol_name: The name, with the path of its module.
      target_module: The module that gets the name; None means the one that had it.

    Raises:
      LookupError: The name was not removed.

    Defined in tensorflow/python/util/all_util.py of TensorFlow 1.15.
    """
    if symbol_name not in _hidden:
        raise LookupError(f"Symbol {symbol_name} is not a hidden symbol")
    module, value = _hidden[symbol_name]
    setattr(target_module or module, symbol_name.rpartition(".")[2], value)
