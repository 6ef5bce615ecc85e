"""Names that Python and NumPy have removed since 2019 and TensorFlow 1 programs use: one table, for `tfcompat run` only.

A row is applied where the name is lacking; what is there stays as it is. Modules are made when they are imported.
"""

from __future__ import annotations

import ast
import base64
import collections
import collections.abc
import configparser
import fractions
import functools
import html
import html.parser
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import inspect
import locale
import math
import os
import re
import shlex
import shutil
import sys
import threading
import time
import types
import unittest
import warnings
import xml.etree.ElementTree
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tfcompat._src.cli.legacy.package_resources import PKG_RESOURCES
from tfcompat._src.cli.legacy.scipy_misc import SCIPY_MISC

ArgSpec = collections.namedtuple("ArgSpec", ["args", "varargs", "keywords", "defaults"])


def getargspec(func: Callable[..., Any]) -> ArgSpec:
    full = inspect.getfullargspec(func)
    is_tensorflows = (getattr(func, "__module__", None) or "").startswith("tfcompat.")  # TensorFlow 1.15 annotates nothing
    if full.kwonlyargs or (full.annotations and not is_tensorflows):
        raise ValueError("Function has keyword-only parameters or annotations, use inspect.signature() API")
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)


def load_source(name: str, path: str) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python source file", name=name, path=path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def strtobool(val: str) -> int:
    if val.lower() in ("y", "yes", "t", "true", "on", "1"):
        return 1
    if val.lower() in ("n", "no", "f", "false", "off", "0"):
        return 0
    raise ValueError(f"invalid truth value {val!r}")


def random_integers(low: int, high: int | None = None, size: Any = None) -> Any:
    return np.random.randint(1, low + 1, size) if high is None else np.random.randint(low, high + 1, size)


def copy_tree(src: str, dst: str, *options: object, **more: object) -> list[str]:
    shutil.copytree(src, dst, dirs_exist_ok=True)
    return [os.path.join(folder, name) for folder, _, names in os.walk(dst) for name in names]


class LooseVersion:
    """A version whose parts are compared one by one: numbers as numbers, words as text."""

    def __init__(self, vstring: str = "") -> None:
        self.vstring = vstring
        self.version = [int(part) if part.isdigit() else part for part in re.findall(r"\d+|[a-z]+", vstring)]

    def _parts(self, other: Any) -> tuple[list[Any], list[Any]]:
        return self.version, (other if isinstance(other, LooseVersion) else type(self)(other)).version

    def __eq__(self, other: object) -> bool:
        mine, theirs = self._parts(other)
        return mine == theirs

    def __lt__(self, other: object) -> bool:
        mine, theirs = self._parts(other)
        return mine < theirs

    def __le__(self, other: object) -> bool:
        mine, theirs = self._parts(other)
        return mine <= theirs

    def __gt__(self, other: object) -> bool:
        return not self <= other

    def __ge__(self, other: object) -> bool:
        return not self < other

    def __hash__(self) -> int:
        return hash(tuple(self.version))

    def __str__(self) -> str:
        return self.vstring

    def __repr__(self) -> str:
        return f"{type(self).__name__} ('{self}')"


class StrictVersion(LooseVersion):
    """A version of two or three numbers and, at most, an a or b part, which comes before the version without it."""

    PATTERN = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?(?:([ab])(\d+))?$")

    def __init__(self, vstring: str = "0.0") -> None:
        match = self.PATTERN.match(vstring)
        if match is None:
            raise ValueError(f"invalid version number '{vstring}'")
        major, minor, patch, word, number = match.groups()
        self.vstring = vstring
        self.version = [int(major), int(minor), int(patch or 0), word or "c", int(number or 0)]


def _scalar_type(value: Any, default: object = None) -> Any:
    try:
        return np.dtype(value if isinstance(value, type) else getattr(value, "dtype", value)).type
    except TypeError:
        return default


_SCALARS = dict(
    int=[np.int8, np.int16, np.int32, np.int64], uint=[np.uint8, np.uint16, np.uint32, np.uint64],
    float=[np.float16, np.float32, np.float64, np.longdouble], complex=[np.complex64, np.complex128, np.clongdouble],
    others=[bool, object, bytes, str, np.void],
)  # fmt: skip
_NUMPY_SCALARS = {t for kinds in _SCALARS.values() for t in kinds if t.__module__ == "numpy"}

def _refactoring_tool(*arguments: Any, **options: Any) -> Any:
    raise NotImplementedError(
        "This Python has no lib2to3; `tfcompat run` restores only its names, for imports: run the program on Python 3.12 or before"
    )


ATTRIBUTES: dict[Any, dict[str, Any]] = {
    np: dict(
        int=int, float=float, complex=complex, object=object, str=str, unicode=str, bool=bool, long=int,
        float_=np.float64, complex_=np.complex128, cfloat=np.complex128, singlecomplex=np.complex64,
        longfloat=np.longdouble, bool8=np.bool_, string_=np.bytes_, unicode_=np.str_, int0=np.intp, uint0=np.uintp,
        NaN=np.nan, NAN=np.nan, Inf=np.inf, Infinity=np.inf, infty=np.inf, PINF=np.inf, NINF=-np.inf,
        PZERO=0.0, NZERO=-0.0, asscalar=lambda a: a.item(), product=np.prod, cumproduct=np.cumprod, alltrue=np.all,
        sometrue=np.any, in1d=lambda ar1, ar2, *args, **kw: np.isin(np.ravel(ar1), ar2, *args, **kw),
        row_stack=np.vstack, trapz=getattr(np, "trapezoid", None), msort=lambda a: np.sort(a, axis=0), round_=np.round,
        mat=np.asmatrix, typeDict=np.sctypeDict, asfarray=lambda a, dtype=np.float64: np.asarray(a, dtype),
        rank=np.ndim, AxisError=np.exceptions.AxisError, ComplexWarning=np.exceptions.ComplexWarning,
        sctypes=_SCALARS, nbytes={t: np.dtype(t).itemsize for t in _NUMPY_SCALARS},
        cast={t: functools.partial(np.asarray, dtype=t) for t in _NUMPY_SCALARS}, obj2sctype=_scalar_type,
        find_common_type=lambda array_types, scalar_types: np.result_type(*array_types, *scalar_types), safe_eval=ast.literal_eval,
        sctype2char=lambda sctype: np.dtype(sctype).char, issctype=lambda rep: isinstance(rep, (type, np.dtype)) and _scalar_type(rep) is not None,
        issubsctype=lambda arg1, arg2: issubclass(_scalar_type(arg1), _scalar_type(arg2)),
        VisibleDeprecationWarning=np.exceptions.VisibleDeprecationWarning, RankWarning=np.exceptions.RankWarning,
        math=math, warnings=warnings, sys=sys, disp=lambda mesg: print(mesg), issubclass_=issubclass,
        maximum_sctype=lambda t: {"i": np.int64, "u": np.uint64, "f": np.longdouble, "c": np.clongdouble}.get(np.dtype(t).kind, np.dtype(t).type),
        deprecate=lambda *args, **kw: args[0] if args and callable(args[0]) else lambda func: func,
    ),
    np.lib: {name: vars(np)[name] for name in np.__all__ if inspect.isroutine(vars(np).get(name))},  # modules would be imported by getattr
    locale: dict(format=locale.format_string),
    np.random: dict(random_integers=random_integers),
    collections: {name: getattr(collections.abc, name) for name in collections.abc.__all__},
    inspect: dict(getargspec=getargspec, ArgSpec=ArgSpec),
    time: dict(clock=time.process_time),
    fractions: dict(gcd=math.gcd),
    base64: dict(encodestring=base64.encodebytes, decodestring=base64.decodebytes),
    threading.Thread: dict(isAlive=threading.Thread.is_alive),
    html.parser.HTMLParser: dict(unescape=staticmethod(html.unescape)),
    configparser: dict(SafeConfigParser=configparser.ConfigParser),
    configparser.RawConfigParser: dict(readfp=configparser.RawConfigParser.read_file),
    xml.etree.ElementTree.ElementTree: dict(getiterator=xml.etree.ElementTree.ElementTree.iter),
    unittest.TestCase: dict(
        assertEquals=unittest.TestCase.assertEqual, assertNotEquals=unittest.TestCase.assertNotEqual,
        assertAlmostEquals=unittest.TestCase.assertAlmostEqual, assert_=unittest.TestCase.assertTrue,
        assertRaisesRegexp=unittest.TestCase.assertRaisesRegex, assertRegexpMatches=unittest.TestCase.assertRegex,
        assertItemsEqual=unittest.TestCase.assertCountEqual, assertNotAlmostEquals=unittest.TestCase.assertNotAlmostEqual,
        assertNotRegexpMatches=unittest.TestCase.assertNotRegex,
    ),
    unittest: dict(
        makeSuite=lambda case, prefix="test": unittest.TestSuite(map(case, [n for n in sorted(dir(case)) if n.startswith(prefix)])),
    ),
}  # fmt: skip
"""Module or class -> the names it lost and what they meant."""

MODULES: dict[str, dict[str, Any]] = {
    "imp": dict(
        load_source=load_source, reload=importlib.reload, new_module=types.ModuleType,
        get_magic=lambda: importlib.util.MAGIC_NUMBER, cache_from_source=importlib.util.cache_from_source,
    ),
    "distutils": {},
    "distutils.dir_util": dict(
        mkpath=lambda name, *args, **kw: os.makedirs(name, exist_ok=True),
        remove_tree=shutil.rmtree,
        copy_tree=copy_tree,
    ),
    "distutils.spawn": dict(find_executable=shutil.which),
    "distutils.util": dict(strtobool=strtobool),
    "distutils.version": dict(LooseVersion=LooseVersion, StrictVersion=StrictVersion),
    "cgi": dict(escape=lambda s, quote=False: html.escape(s, quote)),
    "pipes": dict(quote=shlex.quote),
    "dummy_threading": vars(threading),
    "xml.etree.cElementTree": vars(xml.etree.ElementTree),
    "scipy.misc": SCIPY_MISC,
    "pkg_resources": PKG_RESOURCES | {"parse_version": LooseVersion},
    "lib2to3": {},
    "lib2to3.pgen2": {},
    "lib2to3.pgen2.parse": dict(ParseError=type("ParseError", (Exception,), {})),
    "lib2to3.pgen2.tokenize": dict(TokenError=type("TokenError", (Exception,), {})),
    "lib2to3.refactor": dict(RefactoringTool=_refactoring_tool),
}  # fmt: skip
"""Module that is gone -> what programs use of it."""


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes the modules of the table; it is asked last, after what is installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in MODULES:
            return None
        is_package = any(name.startswith(fullname + ".") for name in MODULES)
        return importlib.machinery.ModuleSpec(fullname, self, is_package=is_package)

    def exec_module(self, module: types.ModuleType) -> None:
        for name, value in MODULES[module.__name__].items():
            if not name.startswith("__"):
                setattr(module, name, value)


def restore() -> None:
    """Adds the names that are lacking, and finds the modules."""
    for owner, names in ATTRIBUTES.items():
        for name, value in names.items():
            if name not in vars(owner):
                setattr(owner, name, value)
    sys.meta_path.append(Finder())
