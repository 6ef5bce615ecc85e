"""`tensorflow.python.util.tf_export`: decorators that store the public names of a symbol in its attributes, and functions that read them.

tfcompat's own functions and classes have no such attributes: their names come from a reverse index of its public namespaces.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from tfcompat._src.base import tf1_names
from tfcompat._src.shim.internal.tf_decorator import make_decorator, unwrap
from tfcompat._src.shim.internal.tf_inspect import getargspec
from tfcompat._src.shim.resolve import ABSENT, public

ESTIMATOR_API_NAME = "estimator"
KERAS_API_NAME = "keras"
TENSORFLOW_API_NAME = "tensorflow"
SUBPACKAGE_NAMESPACES = [ESTIMATOR_API_NAME]


class _Attributes(NamedTuple):
    """Attribute names: of the names of a symbol, and of the constants of a module."""

    names: str
    constants: str


_PREFIXES = {TENSORFLOW_API_NAME: "_tf", ESTIMATOR_API_NAME: "_estimator", KERAS_API_NAME: "_keras"}
API_ATTRS = {api: _Attributes(f"{p}_api_names", f"{p}_api_constants") for api, p in _PREFIXES.items()}
API_ATTRS_V1 = {api: _Attributes(f"{p}_api_names_v1", f"{p}_api_constants_v1") for api, p in _PREFIXES.items()}


class SymbolAlreadyExposedError(Exception):
    """A symbol with public names is given other names."""


class InvalidSymbolNameError(Exception):
    """A public name is in the namespace of another API."""


class api_export:  # noqa: N801
    """Decorator: stores the public names of a symbol in its attributes.

    Args:
      *args: the names, the canonical one first.
      v1: the names in the API of TensorFlow 1, by default the same.
      api_name: "tensorflow", "estimator" or "keras".
      overrides: symbols whose names are removed.
      allow_multiple_exports: whether the names may replace others that the symbol has.

    Raises:
      ValueError: `v2` is given. InvalidSymbolNameError: a name is in the namespace of another API.
    """

    def __init__(self, *args: str, **kwargs: Any) -> None:
        if "v2" in kwargs:
            raise ValueError(
                'You passed a "v2" argument to tf_export. This is not what you want. '
                "Pass v2 names directly as positional arguments instead."
            )
        self._names = args
        self._names_v1 = kwargs.get("v1", args)
        self._api_name = kwargs.get("api_name", TENSORFLOW_API_NAME)
        self._overrides = kwargs.get("overrides", [])
        self._allow_multiple_exports = kwargs.get("allow_multiple_exports", False)
        self._validate_symbol_names()

    def _validate_symbol_names(self) -> None:
        """Raises InvalidSymbolNameError if a name is not in the namespace of its API."""
        names = {*self._names, *self._names_v1}
        if self._api_name != TENSORFLOW_API_NAME:
            if not all(name.startswith(self._api_name) for name in names):
                raise InvalidSymbolNameError(
                    "Can only export symbols under package name of component. "
                    "e.g. tensorflow_estimator must export all symbols under tf.estimator"
                )
            return
        for subpackage in SUBPACKAGE_NAMESPACES:
            if any(name.startswith(subpackage) for name in names):
                raise InvalidSymbolNameError(f"@tf_export is not allowed to export symbols under {subpackage}.*")

    def __call__(self, func: object) -> Any:
        # The attributes are those of the innermost function, which outer decorators do not hide.
        held = (API_ATTRS[self._api_name].names, API_ATTRS_V1[self._api_name].names)
        for overridden in self._overrides:
            for attr in held:
                delattr(unwrap(overridden)[1], attr)
        for attr, names in zip(held, (self._names, self._names_v1)):
            self.set_attr(unwrap(func)[1], attr, names)
        return func

    def set_attr(self, func: Any, api_names_attr: str, names: Iterable[str]) -> None:
        """Sets one of the attributes of a symbol.

        Raises:
          SymbolAlreadyExposedError: the symbol has this attribute itself, not by inheritance.
        """
        if api_names_attr in vars(func) and not self._allow_multiple_exports:
            raise SymbolAlreadyExposedError(f"Symbol {func.__name__} is already exposed as {getattr(func, api_names_attr)}.")
        setattr(func, api_names_attr, names)

    def export_constant(self, module_name: str, name: str) -> None:
        """Stores the public names of the constant `name` in its module, as constants have no attributes."""
        module = sys.modules[module_name]
        for attrs, names in ((API_ATTRS, self._names), (API_ATTRS_V1, self._names_v1)):
            vars(module).setdefault(attrs[self._api_name].constants, []).append((names, name))


tf_export = functools.partial(api_export, api_name=TENSORFLOW_API_NAME)
estimator_export = functools.partial(api_export, api_name=ESTIMATOR_API_NAME)
keras_export = functools.partial(api_export, api_name=KERAS_API_NAME)


def get_canonical_name(api_names: Iterable[str], deprecated_api_names: Iterable[str]) -> str | None:
    """Returns the first name that is not deprecated, else the first; None without names."""
    names, deprecated = list(api_names), set(deprecated_api_names)
    return next((name for name in names if name not in deprecated), names[0] if names else None)


def get_canonical_name_for_symbol(
    symbol: object, api_name: str = TENSORFLOW_API_NAME, add_prefix_to_v1_names: bool = False
) -> str | None:
    """Returns the canonical name of a symbol, in TensorFlow 2 if it has one there; None if it has no name.

    Args:
      add_prefix_to_v1_names: whether a name that only TensorFlow 1 has gets the prefix "compat.v1.".
    """
    # First the names that a decorator stored, then the index of tfcompat's own symbols.
    symbol = unwrap(symbol)[1]
    held = getattr(symbol, "__dict__", {})
    v1, v2 = (held.get(attrs[api_name].names) for attrs in (API_ATTRS_V1, API_ATTRS))
    if v2 is None:
        v1, v2 = _of_api(_public(symbol, 0), api_name), _of_api(_public(symbol, 1), api_name)
    deprecated = held.get("_tf_deprecated_api_names", ())
    name = get_canonical_name(v2, deprecated)
    if name:
        return name
    name = get_canonical_name(v1 or (), deprecated)
    return f"compat.v1.{name}" if add_prefix_to_v1_names else name


def _of_api(names: Iterable[str], api_name: str) -> list[str]:
    """Filters names by API: names below "estimator" and "keras" belong to these, others to "tensorflow"."""
    return [name for name in names if (name.split(".")[0] if name.split(".")[0] in _PREFIXES else TENSORFLOW_API_NAME) == api_name]


_LATER = {"": 1, "compat.v2": 1, "manip": 2}
"""Sort key of namespaces whose names are less preferred: the root's, and deprecated ones."""


@functools.cache
def _public_names() -> dict[int, tuple[list[str], list[str]]]:
    """Returns the reverse index: id of a public function or class of tfcompat -> its names in TensorFlow 1 and in 2, preferred ones first."""
    # Ids are stable, since public objects live as long as the process. Namespaces are visited in the order of preference.
    index: dict[int, tuple[list[str], list[str]]] = {}
    for space, names in sorted(tf1_names.spaces().items(), key=lambda item: (_LATER.get(item[0], 0), item[0])):
        version = int(space == "compat.v2" or space.startswith("compat.v2."))
        # contrib has no API names in 1.15, and compat.v1 repeats those of the root.
        if space.split(".")[0] == "contrib" or (not version and space.split(".")[0] == "compat"):
            continue
        # Names of TensorFlow 2 are those below `tf.compat.v2`, without this prefix.
        inner = space.removeprefix("compat.v2").lstrip(".") if version else space
        for name in sorted(names):
            value = public(f"{space}.{name}".lstrip("."))
            if value is not ABSENT and callable(value):
                index.setdefault(id(unwrap(value)[1]), ([], []))[version].append(f"{inner}.{name}".lstrip("."))
    return index


def _public(symbol: object, version: int) -> list[str]:
    """Returns the names of a symbol of tfcompat in TensorFlow 1 (`version` 0) or 2 (`version` 1)."""
    return _public_names().get(id(symbol), ([], []))[version]


def _names(symbol: object, attrs: dict[str, _Attributes]) -> list[str]:
    """Returns the names that a decorator stored on a symbol, else those of the index."""
    # A symbol with any stored name has only those, also if there are none for this version.
    held = getattr(symbol, "__dict__", {})
    if any(each.names in held for each in (*API_ATTRS.values(), *API_ATTRS_V1.values())):
        return [name for each in attrs.values() for name in held.get(each.names, ())]
    return list(_public(unwrap(symbol)[1], int(attrs is API_ATTRS)))


def get_v1_names(symbol: object) -> list[str]:
    """Returns the names of a symbol in the APIs of TensorFlow 1."""
    return _names(symbol, API_ATTRS_V1)


def get_v2_names(symbol: object) -> list[str]:
    """Returns the names of a symbol in the APIs of TensorFlow 2."""
    return _names(symbol, API_ATTRS)


def _constants(module: object, attrs: dict[str, _Attributes]) -> list[tuple[Any, ...]]:
    """Returns the (names, constant) pairs that a module stores for the APIs of TensorFlow and Estimator, as in 1.15, which leaves Keras out."""
    apis = (TENSORFLOW_API_NAME, ESTIMATOR_API_NAME)
    return [pair for api in apis for pair in getattr(module, attrs[api].constants, ())]


def get_v1_constants(module: object) -> list[tuple[Any, ...]]:
    """Returns the (names, constant) pairs of a module in the APIs of TensorFlow 1."""
    return _constants(module, API_ATTRS_V1)


def get_v2_constants(module: object) -> list[tuple[Any, ...]]:
    """Returns the (names, constant) pairs of a module in the APIs of TensorFlow 2."""
    return _constants(module, API_ATTRS)


def kwarg_only(f: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator: makes a function raise TypeError if it is called with positional arguments."""
    # The declared signature keeps the argument names visible to `tf_inspect`.
    spec = getargspec(f)

    def named_only(*args: Any, **kwargs: Any) -> Any:
        if args:
            raise TypeError(
                f"{f.__name__} only takes keyword args (possible keys: {spec.args}). Please pass these args as kwargs instead."
            )
        return f(**kwargs)

    return make_decorator(f, named_only, decorator_argspec=spec)
