"""A visitor for `traverse` that collects what is to be documented, and under which of its names."""

from __future__ import annotations

import inspect
from typing import Any

_PLAIN = (int, str, bytes, float, complex, bool)
_EMPTY: tuple = ()


class DocGeneratorVisitor:
    """Collects symbols by their full names; `root_name` is the name of the module or class that the traversal starts from."""

    def __init__(self, root_name: str = "") -> None:
        self.set_root_name(root_name)
        self._index: dict[str, Any] = {}
        self._tree: dict[str, list[str]] = {}
        self._chosen: tuple[dict[int, str], dict[str, str], dict[str, list[str]]] | None = None

    def set_root_name(self, root_name: str) -> None:
        """Says what the root of the next traversal is called."""
        self._root_name = root_name or ""

    @property
    def index(self) -> dict[str, Any]:
        """Full name -> object."""
        return self._index

    @property
    def tree(self) -> dict[str, list[str]]:
        """Full name of a module or class -> names of its members."""
        return self._tree

    @property
    def reverse_index(self) -> dict[int, str]:
        """id of an object -> the name under which it is documented; without numbers and strings."""
        return self._choices()[0]

    @property
    def duplicate_of(self) -> dict[str, str]:
        """Each other name of an object -> the name under which it is documented."""
        return self._choices()[1]

    @property
    def duplicates(self) -> dict[str, list[str]]:
        """The name under which an object is documented -> all of its names, sorted, where it has several."""
        return self._choices()[2]

    def __call__(self, parent_name: str, parent: object, children: list[tuple[str, Any]]) -> None:
        prefix = f"{self._root_name}." if self._root_name else ""
        parent_name = prefix + parent_name if parent_name else self._root_name
        if not (inspect.ismodule(parent) or inspect.isclass(parent)):
            raise RuntimeError(f"Unexpected type in visitor -- {parent_name}: {parent!r}")
        children[:] = [child for child in children if child[0] != "__metaclass__"]
        self._index[parent_name] = parent
        self._tree[parent_name] = [name for name, _ in children]
        for name, child in children:
            self._index[f"{parent_name}.{name}" if parent_name else name] = child

    def _score_name(self, name: str) -> tuple[int, int, int, str]:
        """The key by which names are compared, best first: of the defining class, not in contrib, in a namespace, with few parts."""
        parts = name.split(".")
        container = self._index[".".join(parts[:-1])]
        defines = inspect.isclass(container) and parts[-1] in vars(container)
        in_contrib = "contrib" in parts
        while parts and not inspect.ismodule(self._index[".".join(parts)]):
            parts.pop()
        return (-1 if defines else 1, 1 if in_contrib else -1, -1 if len(parts) == 2 else len(parts), name)

    def _canonical_name(self, names: list[str]) -> str:
        """The first name that an object states by `tf_export`, or the best of those that the traversal met."""
        held = getattr(inspect.unwrap(self._index[names[0]]) if callable(self._index[names[0]]) else None, "__dict__", {})
        stated = held.get("_tf_api_names") or held.get("_tf_api_names_v1")
        if stated:
            deprecated = held.get("_tf_deprecated_api_names", ())
            return "tf." + next((name for name in stated if name not in deprecated), stated[0])
        return min(names, key=self._score_name)

    def _choices(self) -> tuple[dict[int, str], dict[str, str], dict[str, list[str]]]:
        if self._chosen is None:
            by_id: dict[int, list[str]] = {}
            for name, value in self._index.items():
                if value is not None and value is not _EMPTY and not isinstance(value, _PLAIN):
                    by_id.setdefault(id(value), []).append(name)
            reverse_index = {key: names[0] for key, names in by_id.items()}
            duplicate_of, duplicates = {}, {}
            for key, names in by_id.items():
                if len(names) > 1:
                    master = self._canonical_name(sorted(names))
                    reverse_index[key], duplicates[master] = master, sorted(names)
                    duplicate_of.update((name, master) for name in names if name != master)
            self._chosen = reverse_index, duplicate_of, duplicates
        return self._chosen
