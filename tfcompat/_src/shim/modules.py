"""Makes the modules below `tensorflow`, of three kinds: public namespaces of tfcompat, whole modules of it, and `InternalModule`s.

An `InternalModule` resolves each name when it is first read, by the hand-written `NAMES`, then by the recorded table `tf1_modules.txt`, which
for internal names leads to a search of the modules in `PLACES`.
"""

from __future__ import annotations

import importlib
import sys
import threading
import types
from typing import Any

from tfcompat._src.base import missing, tf1_names
from tfcompat._src.base.export import export
from tfcompat._src.base.gradient_registry import rule_of_function
from tfcompat._src.proto import definitions, pool
from tfcompat._src.shim.places import NAMES, places
from tfcompat._src.shim.real_modules import REAL_MODULES
from tfcompat._src.shim.resolve import ABSENT, ROOTS, canonical, internal, known, op, own, public, public_module
from tfcompat._src.shim.table import Word, brought_by_star, modules, names


class InternalModule(types.ModuleType):
    """A module of TensorFlow's Python package, which resolves and caches a name when it is first read.

    Monkey patching works as in TensorFlow: if a program replaces a function or class, the implementation calls the replacement too, until
    the attribute is deleted.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path, f"{path} of TensorFlow 1.15, as tfcompat has it.")
        # A `__path__` makes it a package, whose submodules the finder is asked for.
        self.__path__: list[str] = []
        vars(self)["__originals__"] = {}

    def __setattr__(self, name: str, value: object) -> None:
        # The import system sets submodules as attributes. Only other values are patches.
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
        # Python and tools probe for dunder names (`__wrapped__`, `__file__`): no search for these.
        if name.startswith("__") and f"{path}.{name}" not in NAMES:
            raise AttributeError(f"module {path!r} has no attribute {name!r}", name=name, obj=self)
        value = lookup(path, name)
        # A submodule that was never imported is an attribute as well, as in 1.15, which imports nearly all modules at once.
        if value is ABSENT:
            value = find(f"{path}.{name}") or ABSENT
        if value is ABSENT:
            word = names(path).words.get(name)
            text = missing.message(f"{path}.{name}", word.there if word and word.kind == "public" else None)
            raise AttributeError(text, name=name, obj=self)
        vars(self)[name] = value
        return value

    def __dir__(self) -> list[str]:
        held = (*names(self.__name__).words, *brought_by_star(self.__name__), *vars(self))
        return sorted({name for name in held if not name.startswith("__")})


def _replace(name: str, old: object, new: object) -> None:
    """Replaces `old` by `new` in every module of the implementation that has it as `name`, since `from x import name` copies the reference."""
    for path, module in list(sys.modules.items()):
        if path.startswith("tfcompat._src.") and vars(module).get(name, ABSENT) is old:
            vars(module)[name] = new


def _completed(module: types.ModuleType, path: str) -> types.ModuleType:
    """Adds a `__getattr__` to a module of tfcompat that resolves the other names of TensorFlow's module `path`, and returns the module.

    These are modules that TensorFlow's one imports, constants, and names of other modules.
    """
    if module.__name__.startswith("tfcompat._src.") and "__getattr__" not in vars(module):

        def lacking(name: str) -> Any:
            if name == "__all__":
                return [each for each in brought_by_star(path) if hasattr(module, each)]
            value = lookup(path, name) if not name.startswith("__") else ABSENT
            if value is ABSENT:
                raise AttributeError(missing.message(f"{path}.{name}"), name=name, obj=module)
            return value

        vars(module)["__getattr__"] = lacking
    return module


MADE: dict[str, InternalModule] = {}
"""Cache of modules by canonical path, so that all paths of a module lead to one object."""


GRPC_MODULES = "tfcompat._src.proto.grpc_modules"
"""Imported only for a module of gRPC stubs, because it loads gRPC."""


def find(path: str) -> types.ModuleType | None:
    """Returns the module that an import of TensorFlow's module `path` yields, or None if tfcompat does not have it."""
    path = canonical(path)
    # In order: whole modules, generated protocol buffers (from .proto files) and gRPC stubs, public namespaces, internal modules.
    if path in REAL_MODULES:
        return _completed(importlib.import_module(REAL_MODULES[path]), path)
    file = path.replace(".", "/").removesuffix("_pb2") + ".proto"
    if path.endswith("_pb2") and file in definitions.files():
        return pool.module(file)
    if path.endswith("_service_pb2_grpc") and file.replace("_pb2_grpc", "") in definitions.files():
        stubs: types.ModuleType = importlib.import_module(GRPC_MODULES).module(path)
        return stubs
    namespace = public_module(path)
    if namespace is not None:
        return namespace
    # A package also exists if only a whole module or a protocol buffer is below it.
    inner = (*REAL_MODULES, *(file.replace("/", ".") for file in definitions.files()))
    if not known(path) and not any(module.startswith(path + ".") for module in inner):
        return None
    return internal_module(path)


def lookup(module: str, name: str) -> Any:
    """Resolves `name` of TensorFlow's module `module` by the tables; returns the object, or ABSENT."""
    module = canonical(module)
    held, given = names(module), NAMES.get(f"{module}.{name}")
    # The hand-written table takes precedence over the recorded one.
    if given is not None:
        return target(given)
    # A public object that tfcompat lacks may still exist under the internal name.
    if name in held.words:
        value = meaning(module, name, held.words[name])
        return own(module, name, "v") if value is ABSENT and held.words[name].kind in ("public", "name") else value
    # `from x import *`: the last one wins, as in Python.
    for repeated in reversed(held.repeats):
        if name in brought_by_star(canonical(repeated)):
            return of_module(repeated, name)
    return ABSENT


def meaning(module: str, name: str, word: Word) -> Any:
    """Returns the object that an entry of the recorded table means, or ABSENT."""
    if word.kind == "public":
        return public(word.there)
    if word.kind == "op":
        return op(word.there)
    if word.kind == "name":
        return of_module(word.module, word.there)
    if word.kind == "module":
        return _module(word.module)
    if word.kind == "own":
        rule = rule_of_function(f"{module}:{name}")
        return own(module, name, word.there) if rule is None else rule
    # Of Python or another package.
    outer = _module(word.module)
    return getattr(outer, word.there, ABSENT) if word.kind == "outer" else outer


def of_module(module: str, name: str) -> Any:
    """Returns the object that TensorFlow's module `module` has as `name`, or ABSENT. A whole module that implements it is asked first."""
    real = REAL_MODULES.get(canonical(module))
    value = getattr(importlib.import_module(real), name, ABSENT) if real else ABSENT
    return lookup(module, name) if value is ABSENT else value


def target(text: str) -> Any:
    """Returns the object that a value of `NAMES` means, or ABSENT."""
    if text.startswith("raw:"):
        return op(text[4:])
    if text.startswith("@"):
        module, _, name = text[1:].partition(":")
        return internal(places(module), name) if module not in REAL_MODULES else of_module(module, name)
    return public(text)


def _module(path: str) -> Any:
    """Imports the module `path`, of TensorFlow or of another library; returns ABSENT if it is not there.

    Raises:
      ImportError: the module exists, but one that it imports does not.
    """
    if path.partition(".")[0] in ROOTS:
        return find(path) or ABSENT
    try:
        return importlib.import_module(path)
    except ImportError as e:
        if e.name == path:
            return ABSENT
        raise


def internal_module(path: str) -> InternalModule:
    """Returns the InternalModule of a canonical path, from the cache."""
    if path not in MADE:
        MADE[path] = InternalModule(path)
    return MADE[path]


_under_way = threading.local()
"""`names`: the (path, name) pairs that `internal_name` is resolving in this thread."""


def internal_name(namespace: str, name: str) -> Any:
    """Returns a name of a `tf.contrib` package that is not public: a module that TensorFlow's package imports, or a name of one of these.

    Many packages of contrib delete their undocumented names when they are imported (`remove_undocumented`); private names stay.

    Raises:
      AttributeError: TensorFlow's package does not have the name either.
    """
    path, asked = namespace.replace("tfcompat", "tensorflow", 1), vars(_under_way).setdefault("names", set())
    value = ABSENT
    # A submodule that the package itself does not import becomes an attribute only when a program imports it.
    is_hidden = f"{path}.{name}" in modules() and name not in names(path).words
    is_hidden |= not name.startswith("_") and tf1_names.has(f"{path}.{name}".partition(".")[2]) is False
    # The table may lead from a name back to this namespace. `asked` ends the recursion.
    if path.startswith("tensorflow.contrib.") and not name.startswith("__") and not is_hidden and (path, name) not in asked:
        asked.add((path, name))
        try:
            value = lookup(path, name)
            if value is ABSENT and (meant := _meant_by_contrib(path)):
                value = lookup(meant, name)
        finally:
            asked.remove((path, name))
    if value is ABSENT:
        raise AttributeError(f"module {path!r} has no attribute {name!r}", name=name)
    return value


def _meant_by_contrib(path: str) -> str | None:
    """Returns the submodule of the package `path` that `tf.contrib` has in its place (specs.python for specs), or None."""
    parent, _, name = path.rpartition(".")
    word = names(parent).words.get(name) if parent == "tensorflow.contrib" else None
    return word.module if word and word.kind == "module" and word.module.startswith(path + ".") else None


# Modules of TensorFlow that are public names of its namespaces.
pywrap_tensorflow = export("pywrap_tensorflow")(internal_module("tensorflow.python.pywrap_tensorflow"))
quantization_python = export("contrib.quantization.python")(internal_module("tensorflow.contrib.quantization.python"))
quantize_v2 = export("contrib.quantization.quantize_v2")(op("QuantizeV2"))
quantized_array_ops = export("contrib.quantization.quantized_array_ops")(internal_module("tensorflow.contrib.quantization.python.array_ops"))
specs_python = export("contrib.specs.python")(internal_module("tensorflow.contrib.specs.python"))
tensor_forest_python = export("contrib.tensor_forest.python")(internal_module("tensorflow.contrib.tensor_forest.python"))
boosted_trees_python = export("contrib.boosted_trees.python")(internal_module("tensorflow.contrib.boosted_trees.python"))
boosted_trees_proto = export("contrib.boosted_trees.proto")(internal_module("tensorflow.contrib.boosted_trees.proto"))
