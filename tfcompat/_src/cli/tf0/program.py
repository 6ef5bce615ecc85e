"""Makes a process one of TensorFlow before 1.0."""

from __future__ import annotations

import functools
import importlib
import sys
import types
from typing import Any

from tfcompat._src.cli.tf0 import (
    cells,
    flags,
    names,
    operations,
    recurrent,
    sequences,
    sources,
    summaries,
    variables,
    version,
)
from tfcompat._src.graph.graph import Graph
from tfcompat._src.nodes import sparse_tensor
from tfcompat._src.nodes.sparse_tensor import SparseTensor

INTERNAL = ("array_ops", "math_ops", "nn_ops", "nn", "control_flow_ops", "image_ops", "logging_ops", "sparse_ops")
"""Modules below `tensorflow.python.ops` from which programs take operations."""


def install(text: str, is_given: bool) -> None:
    """Makes this process one of a version: "0.12" or before, or 1.4 and before, which had flags of their own; later ones are as 1.15.

    Args:
      is_given: whether the command line names the version, and not the files of the program.
    """
    if version.is_old(text):
        _install_flags()
    if text in version.BEFORE_1:
        version.CURRENT.text, version.CURRENT.is_given = text, is_given
        _install_operations()


def _install_operations() -> None:
    tensorflow = importlib.import_module("tensorflow")
    found = {**operations.found(functools.partial(_at, tensorflow)), **summaries.NAMES, "SparseTensorValue": sparse_tensor_value}
    found["train.SummaryWriter"] = _at(tensorflow, "summary.FileWriter")
    for path, value in found.items():
        outer, _, name = path.rpartition(".")
        vars(_at(tensorflow, outer))[name] = value
    for name in INTERNAL:
        module = importlib.import_module(f"tensorflow.python.ops.{name}")
        for path, value in found.items():
            own = path.rpartition(".")[2]
            if path in names.GONE or hasattr(module, own):
                vars(module)[own] = value
    _put_modules(tensorflow)
    variables.install()
    sources.install()
    Graph._key_of = staticmethod(str)  # type: ignore[assignment]
    SparseTensor.__init__ = _with_shape(SparseTensor.__init__)  # type: ignore[method-assign]


def _install_flags() -> None:
    """Gives this process the flags of TensorFlow until 1.4."""
    tensorflow = importlib.import_module("tensorflow")
    sys.modules["tensorflow.python.platform.flags"] = flags.MODULE
    tensorflow.flags = tensorflow.app.flags = flags.MODULE
    tensorflow.app.run = flags.run
    for name, value in (("flags", flags.MODULE), ("app", tensorflow.app)):
        vars(importlib.import_module("tensorflow.python.platform"))[name] = value


def _at(tensorflow: Any, path: str) -> Any:
    """What a path below `tensorflow` names; the module itself for ""."""
    return functools.reduce(getattr, filter(None, path.split(".")), tensorflow)


def _put_modules(tensorflow: types.ModuleType) -> None:
    """Puts the modules of recurrent networks at all places where programs import them."""
    made = {"rnn": recurrent.NAMES, "rnn_cell": cells.NAMES, "seq2seq": sequences.NAMES}
    ops = importlib.import_module("tensorflow.python.ops")
    models = _package("tensorflow.models")
    models.rnn = package = _package("tensorflow.models.rnn")
    for name, content in made.items():
        of_1 = importlib.import_module(f"tensorflow.python.ops.{name}") if name != "seq2seq" else None
        module = _Module(f"tensorflow.python.ops.{name}", of_1)
        vars(module).update(content)
        sys.modules[module.__name__] = sys.modules[f"tensorflow.models.rnn.{name}"] = module
        for place in (ops, package):
            setattr(place, name, module)
    package.linear = sys.modules["tensorflow.models.rnn.linear"] = types.ModuleType("tensorflow.models.rnn.linear")
    package.linear.linear = cells.linear
    tensorflow.models = models
    vars(tensorflow.nn).update(recurrent.NAMES, rnn_cell=ops.rnn_cell, seq2seq=ops.seq2seq)


class _Module(types.ModuleType):
    """A module of TensorFlow before 1.0; what it has not is looked for in that of 1.15."""

    def __init__(self, name: str, of_1: types.ModuleType | None) -> None:
        super().__init__(name)
        vars(self)["_of_1"] = of_1

    def __getattr__(self, name: str) -> Any:
        of_1 = vars(self)["_of_1"]
        if of_1 is None or name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(of_1, name)


def _package(name: str) -> Any:
    package = types.ModuleType(name)
    package.__path__ = []
    sys.modules[name] = package
    return package


def _with_shape(init: Any) -> Any:
    """The constructor of SparseTensor, which also takes its third argument as `shape`."""

    @functools.wraps(init)
    def __init__(self: Any, indices: Any, values: Any, dense_shape: Any = None, shape: Any = None) -> None:
        init(self, indices, values, shape if dense_shape is None else dense_shape)

    return __init__


class sparse_tensor_value(sparse_tensor.SparseTensorValue):  # noqa: N801
    """The value of a SparseTensor, whose size is called `shape`, too."""

    __slots__ = ()

    def __new__(cls, indices: Any, values: Any, dense_shape: Any = None, shape: Any = None) -> Any:
        return super().__new__(cls, indices, values, shape if dense_shape is None else dense_shape)

    shape = property(lambda self: self.dense_shape)


sparse_tensor_value.__name__ = "SparseTensorValue"
