"""The modules of the name `tensorflow`: tfcompat's own namespaces, and modules whose names are found when read."""

from __future__ import annotations

import importlib
import sys
import threading
import types
from typing import Any

from tfcompat._src.base import missing, tf1_names
from tfcompat._src.base.export import export
from tfcompat._src.proto import definitions, pool
from tfcompat._src.shim.places import NAMES, places
from tfcompat._src.shim.real_modules import REAL_MODULES
from tfcompat._src.shim.resolve import ABSENT, ROOTS, canonical, internal, known, op, own, public, public_module
from tfcompat._src.shim.table import Word, brought_by_star, modules, names


class InternalModule(types.ModuleType):
    """A module of TensorFlow's Python package; a name is looked for when it is first read.

    What a program puts in the place of a function or class is also what the implementation calls, until it is deleted.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path, f"{path} of TensorFlow 1.15, as tfcompat has it.")
        self.__path__: list[str] = []
        vars(self)["__originals__"] = {}

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("__") and not isinstance(value, types.ModuleType) and (old := getattr(self, name, ABSENT)) is not ABSENT:
            self.__originals__.setdefault(name, old)
            _replace(name, old, value)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        if name in self.__originals__:
            _replace(name, getattr(self, name), self.__originals__.pop(name))
        super().__delattr__(name)

    def __getattr__(self, name: str) -> Any:
        path = self.__name__
        if name == "__all__":
            return [each for each in brought_by_star(path) if hasattr(self, each)]
        if name.startswith("__") and f"{path}.{name}" not in NAMES:
            raise AttributeError(f"module {path!r} has no attribute {name!r}", name=name, obj=self)
        found = lookup(path, name)
        if found is ABSENT:
            found = find(f"{path}.{name}") or ABSENT
        if found is ABSENT:
            word = names(path).words.get(name)
            text = missing.message(f"{path}.{name}", word.there if word and word.kind == "public" else None)
            raise AttributeError(text, name=name, obj=self)
        vars(self)[name] = found
        return found

    def __dir__(self) -> list[str]:
        held = (*names(self.__name__).words, *brought_by_star(self.__name__), *vars(self))
        return sorted({name for name in held if not name.startswith("__")})


def _replace(name: str, old: object, new: object) -> None:
    """Puts `new` where modules of the implementation have `old` under `name`."""
    for path, module in list(sys.modules.items()):
        if path.startswith("tfcompat._src.") and vars(module).get(name, ABSENT) is old:
            vars(module)[name] = new


def _completed(module: types.ModuleType, path: str) -> types.ModuleType:
    """A module of ours that gives what it lacks of TensorFlow's module `path`: modules that this imports, constants, names of others."""
    if module.__name__.startswith("tfcompat._src.") and "__getattr__" not in vars(module):

        def lacking(name: str) -> Any:
            if name == "__all__":
                return [each for each in brought_by_star(path) if hasattr(module, each)]
            found = lookup(path, name) if not name.startswith("__") else ABSENT
            if found is ABSENT:
                raise AttributeError(missing.message(f"{path}.{name}"), name=name, obj=module)
            return found

        vars(module)["__getattr__"] = lacking
    return module


MADE: dict[str, InternalModule] = {}
"""Modules made so far, by canonical path: all paths of one module give one object."""


GRPC_MODULES = "tfcompat._src.proto.grpc_modules"
"""Imported when a program asks for such a module: it loads gRPC."""


def find(path: str) -> types.ModuleType | None:
    """The module that stands for TensorFlow's module `path`, or None if tfcompat has none."""
    path = canonical(path)
    if path in REAL_MODULES:
        return _completed(importlib.import_module(REAL_MODULES[path]), path)
    file = path.replace(".", "/").removesuffix("_pb2") + ".proto"
    if path.endswith("_pb2") and file in definitions.files():
        return pool.module(file)
    if path.endswith("_service_pb2_grpc") and file.replace("_pb2_grpc", "") in definitions.files():
        found: types.ModuleType = importlib.import_module(GRPC_MODULES).module(path)
        return found
    namespace = public_module(path)
    if namespace is not None:
        return namespace
    inner = (*REAL_MODULES, *(file.replace("/", ".") for file in definitions.files()))
    if not known(path) and not any(module.startswith(path + ".") for module in inner):
        return None
    return internal_module(path)


def lookup(module: str, name: str) -> Any:
    """The object that stands for `name` of TensorFlow's module `module`, or ABSENT."""
    module = canonical(module)
    held, given = names(module), NAMES.get(f"{module}.{name}")
    if given is not None:
        return target(given)
    if name in held.words:
        found = meaning(module, name, held.words[name])
        return own(module, name, "v") if found is ABSENT and held.words[name].kind in ("public", "name") else found
    for repeated in reversed(held.repeats):
        if name in brought_by_star(canonical(repeated)):
            return of_module(repeated, name)
    return ABSENT


def meaning(module: str, name: str, word: Word) -> Any:
    """The object behind a word of the table, or ABSENT."""
    if word.kind == "public":
        return public(word.there)
    if word.kind == "op":
        return op(word.there)
    if word.kind == "name":
        return of_module(word.module, word.there)
    if word.kind == "module":
        return _module(word.module)
    if word.kind == "own":
        return own(module, name, word.there)
    found = _module(word.module)
    return getattr(found, word.there, ABSENT) if word.kind == "outer" else found


def of_module(module: str, name: str) -> Any:
    """The object that TensorFlow's module `module` has as `name`, or ABSENT."""
    real = REAL_MODULES.get(canonical(module))
    found = getattr(importlib.import_module(real), name, ABSENT) if real else ABSENT
    return lookup(module, name) if found is ABSENT else found


def target(text: str) -> Any:
    """The object that an entry of `NAMES` points to, or ABSENT."""
    if text.startswith("raw:"):
        return op(text[4:])
    if text.startswith("@"):
        module, _, name = text[1:].partition(":")
        return internal(places(module), name) if module not in REAL_MODULES else of_module(module, name)
    return public(text)


def _module(path: str) -> Any:
    """The module `path` that a module of TensorFlow imports, which may be of another library, or ABSENT."""
    if path.partition(".")[0] in ROOTS:
        return find(path) or ABSENT
    try:
        return importlib.import_module(path)
    except ImportError as e:
        if e.name == path:
            return ABSENT
        raise


def internal_module(path: str) -> InternalModule:
    """The module whose names are found when read, for the canonical path `path`."""
    if path not in MADE:
        MADE[path] = InternalModule(path)
    return MADE[path]


_under_way = threading.local()


def internal_name(namespace: str, name: str) -> Any:
    """What TensorFlow's `tf.contrib` packages hold beside their public names: modules that they import, and names of those.

    Many packages delete what they do not document when they are imported: such names are not there, though private ones are.

    Raises:
      AttributeError: The package does not have the name.
    """
    path, asked = namespace.replace("tfcompat", "tensorflow", 1), vars(_under_way).setdefault("names", set())
    found = ABSENT
    is_hidden = f"{path}.{name}" in modules() and name not in names(path).words  # by a module inside, which an import puts there
    is_hidden |= not name.startswith("_") and tf1_names.has(f"{path}.{name}".partition(".")[2]) is False
    if path.startswith("tensorflow.contrib.") and not name.startswith("__") and not is_hidden and (path, name) not in asked:
        asked.add((path, name))
        try:
            found = lookup(path, name)
            if found is ABSENT and (meant := _meant_by_contrib(path)):
                found = lookup(meant, name)
        finally:
            asked.remove((path, name))
    if found is ABSENT:
        raise AttributeError(f"module {path!r} has no attribute {name!r}", name=name)
    return found


def _meant_by_contrib(path: str) -> str | None:
    """The module inside of the package `path` that `tf.contrib` holds in place of it, where it does: specs.python for specs."""
    parent, _, name = path.rpartition(".")
    word = names(parent).words.get(name) if parent == "tensorflow.contrib" else None
    return word.module if word and word.kind == "module" and word.module.startswith(path + ".") else None


pywrap_tensorflow = export("pywrap_tensorflow")(internal_module("tensorflow.python.pywrap_tensorflow"))
quantization_python = export("contrib.quantization.python")(internal_module("tensorflow.contrib.quantization.python"))
quantize_v2 = export("contrib.quantization.quantize_v2")(op("QuantizeV2"))
quantized_array_ops = export("contrib.quantization.quantized_array_ops")(internal_module("tensorflow.contrib.quantization.python.array_ops"))
specs_python = export("contrib.specs.python")(internal_module("tensorflow.contrib.specs.python"))
tensor_forest_python = export("contrib.tensor_forest.python")(internal_module("tensorflow.contrib.tensor_forest.python"))
boosted_trees_python = export("contrib.boosted_trees.python")(internal_module("tensorflow.contrib.boosted_trees.python"))
boosted_trees_proto = export("contrib.boosted_trees.proto")(internal_module("tensorflow.contrib.boosted_trees.proto"))
