"""`tensorflow.python.util.lazy_loader`: a proxy for a module that is imported when it is first used."""

from __future__ import annotations

import importlib
import types
from typing import Any


class LazyLoader(types.ModuleType):
    """A proxy for the module `name`. The first read of an attribute imports it, and puts it in `parent_module_globals` as `local_name`."""

    def __init__(
        self, local_name: str, parent_module_globals: dict[str, Any], name: str, warning: str | None = None
    ) -> None:
        super().__init__(name)
        vars(self).update(_local_name=local_name, _parent=parent_module_globals, _warning=warning)

    def __getattr__(self, item: str) -> Any:
        module = importlib.import_module(self.__name__)
        self._parent[self._local_name] = module
        # Other references to the proxy then read attributes without this method.
        vars(self).update(vars(module))
        return getattr(module, item)
