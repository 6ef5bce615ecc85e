"""`tensorflow.python.util.lazy_loader`: a module that is imported when it is first used."""

from __future__ import annotations

import importlib
import types
from typing import Any


class LazyLoader(types.ModuleType):
    """Stands for module `name`, under `local_name` in `parent_module_globals`, until an attribute is read."""

    def __init__(
        self, local_name: str, parent_module_globals: dict[str, Any], name: str, warning: str | None = None
    ) -> None:
        super().__init__(name)
        vars(self).update(_local_name=local_name, _parent=parent_module_globals, _warning=warning)

    def __getattr__(self, item: str) -> Any:
        module = importlib.import_module(self.__name__)
        self._parent[self._local_name] = module
        vars(self).update(vars(module))
        return getattr(module, item)
