"""`tensorflow.python.tools.api.generator`: generates the source of a public API's modules from the names that `tf_export` stores."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tfcompat._src.shim.internal.tf_decorator import unwrap
from tfcompat._src.shim.internal.tf_export import API_ATTRS, API_ATTRS_V1, ESTIMATOR_API_NAME, TENSORFLOW_API_NAME

# Names of 1.15, which its tests read. FLAGS is not read, since a look-up of its attributes parses the command line.
_DEFAULT_PACKAGE = "tensorflow.python"
_LAZY_LOADING = False
_NOT_READ = {"tensorflow.python.platform.flags.FLAGS"}
_FOOTER = """
from tensorflow.python.util import module_wrapper as _module_wrapper

if not isinstance(_sys.modules[__name__], _module_wrapper.TFModuleWrapper):
  _sys.modules[__name__] = _module_wrapper.TFModuleWrapper(
      _sys.modules[__name__], "%s", public_apis=%s, deprecation=%s,
      has_lite=%s)
"""


class SymbolExposedTwiceError(Exception):
    """Several symbols have the same public name."""


class DocSource(NamedTuple):
    """The source of a public module's docstring: the text itself, or a module below the base package that has it."""

    docstring: str | None = None
    docstring_module_name: str | None = None


_TEXTS = {
    TENSORFLOW_API_NAME: """app platform.app, bitwise ops.bitwise_ops, compat util.compat, distribute distribute.distribute_lib, distributions
    ops.distributions.distributions, errors framework.errors, gfile platform.gfile, graph_util framework.graph_util, image ops.image_ops,
    keras.estimator keras.estimator, linalg ops.linalg_ops, logging ops.logging_ops, losses ops.losses.losses, manip ops.manip_ops, math
    ops.math_ops, metrics ops.metrics, nn ops.nn_ops, nn.rnn_cell ops.rnn_cell, python_io lib.io.python_io, ragged ops.ragged, resource_loader
    platform.resource_loader, sets ops.sets, signal ops.signal.signal, sparse ops.sparse_ops, strings ops.string_ops, summary summary.summary,
    sysconfig platform.sysconfig, test platform.test, train training.training""",
    ESTIMATOR_API_NAME: "estimator estimator_lib, estimator.export export.export_lib, estimator.inputs inputs.inputs",
}
"""API -> pairs of a public module and the module below the base package that has its docstring."""


def get_doc_sources(api_name: str) -> dict[str, DocSource]:
    """Returns the docstring sources of an API's modules, by module; {} for APIs other than "tensorflow" and "estimator"."""
    pairs = [pair.split() for pair in _TEXTS.get(api_name, "").split(",") if pair]
    return {module: DocSource(docstring_module_name=source) for module, source in pairs}


class _Import(NamedTuple):
    """An import of `name` from the module `source` as `wanted`; a module if `source` is empty."""

    source: str
    name: str
    wanted: str

    def text(self, lazy: bool) -> str:
        """Returns the line of source: an import statement, or an entry of `_PUBLIC_APIS` if names are imported lazily."""
        if lazy:
            return f"  '{self.wanted}': ('{self.source}', '{self.name}'),"
        renamed = "" if self.name == self.wanted else f" as {self.wanted}"
        return (f"from {self.source} " if self.source else "") + f"import {self.name}{renamed}"


class _Modules:
    """The imports of each module of an API. Of several possible ones, the import from the module that defines the symbol is chosen."""

    def __init__(self, output_package: str, lazy: bool) -> None:
        self._package, self._lazy = output_package, lazy
        self._symbols: dict[str, Any] = {}
        self.imports: dict[str, dict[str, set[tuple[int, str]]]] = {}

    def add(self, symbol: object, found: _Import, module: str) -> None:
        """Adds an import to a module; raises SymbolExposedTwiceError if another symbol has the name."""
        path = f"{module}.{found.wanted}" if module else found.wanted
        if symbol is not None and self._symbols.setdefault(path, symbol) is not symbol:
            raise SymbolExposedTwiceError(f"Trying to export multiple symbols with same name: {path}.")
        # Lower ranks are preferred, then the smaller text, so that the result does not depend on the order of `sys.modules`.
        rank = -int(symbol is not None and getattr(symbol, "__module__", None) == found.source)
        self.imports.setdefault(module, {}).setdefault(path, set()).add((rank, found.text(self._lazy)))

    def add_modules(self) -> None:
        """Adds, to each module, the imports of its submodules."""
        # Over the modules before this loop: `add` makes the packages above them.
        for module in [each for each in self.imports if each]:
            parts = module.split(".")
            for i, name in enumerate(parts):
                outer = ".".join(parts[:i])
                if self._lazy:
                    source, wanted = "", f"{self._package}.{'.'.join(parts[: i + 1])}"
                else:
                    source, wanted = f"{self._package}.{outer}".rstrip("."), name
                self.add(None, _Import(source, wanted, name), outer)

    def lines(self, module: str) -> str:
        """Returns the source lines of a module, sorted."""
        return "\n".join(sorted(min(choices)[1] for choices in self.imports[module].values()))


def _exports(symbol: Any, name: str, api_name: str, version: int) -> Iterator[tuple[Any, str, str]]:
    """Yields (symbol or None for a constant, its name in the module, public path) for a value that a module has as `name`."""
    attrs = (API_ATTRS_V1 if version == 1 else API_ATTRS)[api_name]
    if name == attrs.constants:
        yield from ((None, constant, path) for paths, constant in symbol for path in paths)
    elif attrs.names in getattr(symbol, "__dict__", {}):
        yield from ((symbol, name, path) for path in vars(symbol)[attrs.names])


def _read(packages: Sequence[str]) -> Iterator[tuple[str, str, Any]]:
    """Yields (module, name, value) for the imported modules of some packages. Of contrib, only lite is part of an API."""
    # A copy: reading a name can import modules.
    for module in list(sys.modules.values()):
        path = getattr(module, "__name__", None) or ""
        is_contrib = (".contrib." in path or path.endswith(".contrib")) and ".lite" not in path
        if any(package in path for package in packages) and not is_contrib:
            for name in dir(module):
                if f"{path}.{name}" not in _NOT_READ:
                    yield path, name, unwrap(getattr(module, name))[1]


def get_api_init_text(
    packages: Sequence[str], output_package: str, api_name: str, api_version: int, compat_api_versions: Iterable[int] | None = None,
    lazy_loading: bool = _LAZY_LOADING,
) -> tuple[dict[str, str], dict[str, str]]:  # fmt: skip
    """Generates the source of an API's modules.

    Args:
      packages: packages whose imported modules are searched for exported symbols.
      output_package: the package of the generated modules. api_name: "tensorflow", "estimator" or "keras". api_version: 1 or 2.
      compat_api_versions: versions that get a namespace of their own, `compat.v1` and so on.
      lazy_loading: whether names are imported when they are read.

    Returns:
      two dicts by module path below the package: the imports, and the footer.
    """
    # Every version exports into its namespace: the main one at the root.
    modules = _Modules(output_package, lazy_loading)
    versions = [(api_version, ""), *((version, f"compat.v{version}") for version in compat_api_versions or ())]
    for source, name, value in _read(packages):
        for version, prefix in versions:
            for symbol, member, path in _exports(value, name, api_name, version):
                inner, _, wanted = path.rpartition(".")
                modules.add(symbol, _Import(source, member, wanted), ".".join(filter(None, (prefix, inner))))
    modules.add_modules()
    # The texts are those of 1.15's generator.
    texts, footers = {}, {}
    for module in modules.imports:
        lines = modules.lines(module)
        if lazy_loading:
            lines = f"\n# Inform pytype that this module is dynamically populated (b/111239204).\n_HAS_DYNAMIC_ATTRIBUTES = True\n_PUBLIC_APIS = {{\n{lines}\n}}\n"
        texts[module] = lines
        deprecates = api_version == 1 and not module.startswith("compat.v")
        has_lite = not module and lazy_loading and "lite" in modules.imports
        footers[module] = _FOOTER % (module, "_PUBLIC_APIS" if lazy_loading else "None", deprecates, has_lite)
    # `__all__` of the root lists names with an underscore too, such as `__version__`.
    if not lazy_loading:
        hidden = ", ".join(f"'{path}'" for path in modules.imports.get("", ()) if path.startswith("_"))
        texts[""] = texts.get("", "") + f"""
_names_with_underscore = [{hidden}]
__all__ = [_s for _s in dir() if not _s.startswith('_')]
__all__.extend([_s for _s in _names_with_underscore])
"""
    return texts, footers
