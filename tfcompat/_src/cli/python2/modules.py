"""Modules as a program of Python 2 imports them: those that were renamed, and names that a module had.

The program alone gets them: a library that imports `string` or `random` gets Python 3's. What a program sets on such a module it sets
on Python 3's, so that `sys.stdout = log` is seen by all.
"""

from __future__ import annotations

import base64
import binascii
import bz2
import csv
import functools
import hashlib
import hmac
import importlib
import itertools
import math
import operator
import os
import string
import struct
import subprocess
import sys
import types
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tfcompat._src.cli.python2 import attributes, files, operators, pickles, random_numbers, regular_expressions
from tfcompat._src.cli.python2.text import as_bytes, as_text, written

MOVED = {
    "__builtin__": "builtins", "BaseHTTPServer": "http.server", "ConfigParser": "configparser", "Cookie": "http.cookies", "HTMLParser": "html.parser",
    "Queue": "queue", "SimpleHTTPServer": "http.server", "SocketServer": "socketserver", "Tkinter": "tkinter", "cPickle": "pickle", "commands": "subprocess",
    "cookielib": "http.cookiejar", "copy_reg": "copyreg", "dummy_thread": "_thread", "exceptions": "builtins", "htmlentitydefs": "html.entities",
    "httplib": "http.client", "repr": "reprlib", "robotparser": "urllib.robotparser", "thread": "_thread", "tkFileDialog": "tkinter.filedialog",
    "tkFont": "tkinter.font", "tkMessageBox": "tkinter.messagebox", "tkSimpleDialog": "tkinter.simpledialog", "urllib2": "urllib.request",
    "urlparse": "urllib.parse", "xmlrpclib": "xmlrpc.client", "StringIO": "io", "cStringIO": "io", "UserDict": "collections", "UserList": "collections",
    "UserString": "collections", "md5": "hashlib", "sha": "hashlib", "sets": "builtins", "future_builtins": "builtins", "anydbm": "dbm", "ttk": "tkinter.ttk",
}  # fmt: skip
"""Module of Python 2 -> the one that has its names now."""


class Module(types.ModuleType):
    """A module with names of its own before those of Python 3's."""

    def __init__(self, name: str, of_today: types.ModuleType, own: dict[str, Any]) -> None:
        super().__init__(name, of_today.__doc__)
        vars(self).update({name: value for name, value in vars(of_today).items() if name in ("__file__", "__path__", "__spec__")})
        vars(self).update(own, _of_today=of_today)

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(vars(self)["_of_today"], name)
        except AttributeError:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self):
            vars(self)[name] = value
        else:
            setattr(vars(self)["_of_today"], name, value)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *dir(vars(self)["_of_today"])} - {"_of_today"})

    @property
    def __all__(self) -> list[str]:
        of_today = vars(self)["_of_today"]
        public = getattr(of_today, "__all__", [name for name in vars(of_today) if not name.startswith("_")])
        own = [name for name in vars(self) if not name.startswith("_")]
        return list(dict.fromkeys((*public, *own)))


# Functions of modules


def _without_value(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of `math` that gave floats: one that is an index too, since programs slice with it."""
    return lambda x: WholeFloat(function(x)) if math.isfinite(x) else float(x)


class WholeFloat(float):
    """A float without a fraction, which is an index too; programs see that its type is called float."""

    __slots__ = ()

    def __index__(self) -> int:
        return int(self)

    def __str__(self) -> str:
        return written(self)

    __repr__ = float.__repr__


WholeFloat.__name__ = "float"


def maketrans(source: str, target: str) -> str:
    """`string.maketrans`: a table of 256 characters, where one of the arguments is not ASCII a dict."""
    if not (source + target).isascii():
        return str.maketrans(source, target)  # type: ignore[return-value]
    table = [chr(code) for code in range(256)]
    for char, put in zip(source, target):
        table[ord(char)] = put
    return "".join(table)


def _with_bytes(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of bytes that takes text too, as its arguments."""

    @functools.wraps(function)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        return function(*map(as_bytes, arguments), **named)

    return wrapped


def _to_text(function: Callable[..., bytes]) -> Callable[..., str]:
    @functools.wraps(function)
    def wrapped(*arguments: Any, **named: Any) -> str:
        return as_text(function(*map(as_bytes, arguments), **named))

    return wrapped


class _Hash:
    """A hash that takes text."""

    def __init__(self, made: Any) -> None:
        self._made = made

    def update(self, data: Any) -> None:
        self._made.update(as_bytes(data))

    def digest(self) -> files.ByteString:
        return files.ByteString(self._made.digest())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


def _hash(name: str) -> Callable[..., _Hash]:
    return lambda data=b"": _Hash(hashlib.new(name, as_bytes(data)))


def _to_bytes(function: Callable[..., bytes]) -> Callable[..., files.ByteString]:
    """A function from bytes to bytes that takes text too, and whose bytes have strings as elements."""

    @functools.wraps(function)
    def wrapped(*arguments: Any, **named: Any) -> files.ByteString:
        return files.ByteString(function(*map(as_bytes, arguments), **named))

    return wrapped


def _signed(checksum: Callable[..., int]) -> Callable[..., int]:
    """A checksum as the signed number of 32 bits that it was; one so far may be given as either."""

    @functools.wraps(checksum)
    def wrapped(data: Any, *so_far: int) -> int:
        number = checksum(as_bytes(data), *(value & 0xFFFFFFFF for value in so_far))
        return number - (number >> 31 << 32)

    return wrapped


class _Compression:
    """What `zlib.compressobj` and its like make, which takes text."""

    def __init__(self, made: Any) -> None:
        self._made = made

    def copy(self) -> _Compression:
        return _Compression(self._made.copy())

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._made, name)
        return _to_bytes(found) if callable(found) else found


def _compressing(kind: Callable[..., Any]) -> Callable[..., _Compression]:
    return lambda *arguments, **named: _Compression(kind(*arguments, **named))


def _of_zlib() -> dict[str, Any]:
    return dict(
        crc32=_signed(zlib.crc32), adler32=_signed(zlib.adler32), compress=_to_bytes(zlib.compress), decompress=_to_bytes(zlib.decompress),
        compressobj=_compressing(zlib.compressobj), decompressobj=_compressing(zlib.decompressobj),
    )  # fmt: skip


def _of_binascii() -> dict[str, Any]:
    return dict(
        crc32=_signed(binascii.crc32), crc_hqx=_with_bytes(binascii.crc_hqx),
        **{name: _to_text(getattr(binascii, name)) for name in ("hexlify", "b2a_hex", "b2a_base64", "b2a_uu", "b2a_qp")},
        **{name: _to_bytes(getattr(binascii, name)) for name in ("unhexlify", "a2b_hex", "a2b_base64", "a2b_uu", "a2b_qp")},
    )  # fmt: skip


def _of_bz2() -> dict[str, Any]:
    return dict(
        compress=_to_bytes(bz2.compress), decompress=_to_bytes(bz2.decompress),
        BZ2Compressor=_compressing(bz2.BZ2Compressor), BZ2Decompressor=_compressing(bz2.BZ2Decompressor),
    )  # fmt: skip


def _hmac(key: Any, msg: Any = None, digestmod: Any = "md5") -> _Hash:
    """`hmac.new`, which took MD5 where nothing is said, and a module or a function of `hashlib`."""
    if not isinstance(digestmod, str):
        digestmod = getattr(digestmod, "new", digestmod)()._made.name
    return _Hash(hmac.new(as_bytes(key), as_bytes(msg), digestmod))


def _text_lines(lines: Iterable[Any]) -> Iterator[str]:
    return (as_text(line) if isinstance(line, bytes) else line for line in lines)


def _csv_reader(lines: Iterable[Any], *arguments: Any, **named: Any) -> Any:
    return csv.reader(_text_lines(lines), *arguments, **named)


class _DictReader(csv.DictReader):
    def __init__(self, f: Iterable[Any], *arguments: Any, **named: Any) -> None:
        super().__init__(_text_lines(f), *arguments, **named)


def _of_types() -> dict[str, Any]:
    return dict(
        StringType=str, UnicodeType=str, StringTypes=(str, bytes), IntType=int, LongType=int, FloatType=float, ComplexType=complex, BooleanType=bool,
        ListType=list, TupleType=tuple, DictType=dict, DictionaryType=dict, NoneType=type(None), TypeType=type, ClassType=type, ObjectType=object,
        InstanceType=object, FileType=files.File, SliceType=slice, XRangeType=range, BufferType=memoryview, UnboundMethodType=types.FunctionType,
    )  # fmt: skip


def _of_sys() -> dict[str, Any]:
    return dict(
        maxint=sys.maxsize, version_info=VersionInfo((2, 7, 18, "final", 0)), hexversion=0x020712F0, version="2.7.18 (tfcompat)",
        setdefaultencoding=lambda name: None, getdefaultencoding=lambda: "ascii", exc_clear=lambda: None,
    )  # fmt: skip


class VersionInfo(tuple):
    """`sys.version_info`."""

    __slots__ = ()
    major, minor, micro, releaselevel, serial = (property(operator.itemgetter(number)) for number in range(5))


def _of_string() -> dict[str, Any]:
    def method(name: str) -> Callable[..., Any]:
        return lambda text, *arguments: attributes.attribute(text, name)(*arguments)

    names = ("split", "rsplit", "lower", "upper", "strip", "lstrip", "rstrip", "replace", "find", "rfind", "count", "zfill", "center", "ljust", "rjust")
    return dict(
        letters=string.ascii_letters, lowercase=string.ascii_lowercase, uppercase=string.ascii_uppercase, maketrans=maketrans, atoi=int, atof=float,
        atol=int, join=lambda words, sep=" ": sep.join(words), joinfields=lambda words, sep=" ": sep.join(words), translate=_translated,
        **{name: method(name) for name in names}, index=lambda text, *where: text.index(*where), capitalize=lambda text: text.capitalize(),
    )  # fmt: skip


def _translated(text: str, table: Any, deleted: str = "") -> str:
    return attributes.attribute(text, "translate")(table, deleted)


def _of_urllib() -> dict[str, Any]:
    parse, request, error = (importlib.import_module(f"urllib.{name}") for name in ("parse", "request", "error"))
    return dict(
        urlopen=request.urlopen, urlretrieve=request.urlretrieve, urlcleanup=request.urlcleanup, pathname2url=request.pathname2url,
        url2pathname=request.url2pathname, getproxies=request.getproxies, URLopener=getattr(request, "URLopener", None), quote=parse.quote,
        FancyURLopener=getattr(request, "FancyURLopener", None), quote_plus=parse.quote_plus, unquote=parse.unquote, unquote_plus=parse.unquote_plus,
        urlencode=parse.urlencode, ContentTooShortError=error.ContentTooShortError,
    )  # fmt: skip


def _of_urllib2() -> dict[str, Any]:
    parse, error = importlib.import_module("urllib.parse"), importlib.import_module("urllib.error")
    return dict(URLError=error.URLError, HTTPError=error.HTTPError, quote=parse.quote, unquote=parse.unquote)


def _of_config_parser() -> dict[str, Any]:
    parser = importlib.import_module("configparser")
    return dict(ConfigParser=parser.ConfigParser, SafeConfigParser=parser.ConfigParser, RawConfigParser=parser.RawConfigParser)


OWN: dict[str, Callable[[], dict[str, Any]]] = {
    "binascii": _of_binascii,
    "bz2": _of_bz2,
    "base64": lambda: {name: _to_text(getattr(base64, name)) for name in ("b64encode", "b64decode", "urlsafe_b64encode", "urlsafe_b64decode", "standard_b64encode")}
    | dict(encodestring=_to_text(base64.encodebytes), decodestring=_with_bytes(base64.decodebytes), b64decode=_with_bytes(base64.b64decode)),
    "cPickle": lambda: pickles.NAMES,
    "cStringIO": lambda: dict(StringIO=files.StringIO),
    "commands": lambda: dict(getoutput=subprocess.getoutput, getstatusoutput=subprocess.getstatusoutput),
    "csv": lambda: dict(reader=_csv_reader, DictReader=_DictReader),
    "hashlib": lambda: {name: _hash(name) for name in ("md5", "sha1", "sha224", "sha256", "sha384", "sha512")},
    "hmac": lambda: dict(new=_hmac),
    "itertools": lambda: dict(izip=zip, imap=map, ifilter=filter, izip_longest=itertools.zip_longest, ifilterfalse=itertools.filterfalse),
    "math": lambda: dict(floor=_without_value(math.floor), ceil=_without_value(math.ceil)),
    "md5": lambda: dict(new=_hash("md5"), md5=_hash("md5")),
    "operator": lambda: dict(
        div=operators.divided, idiv=operators.divided_in_place, isCallable=callable, sequenceIncludes=operator.contains,
        isMappingType=lambda value: hasattr(value, "keys"), isSequenceType=lambda value: hasattr(value, "__getitem__"),
    ),
    "os": lambda: dict(getcwdu=os.getcwd),
    "pickle": lambda: pickles.NAMES,
    "random": random_numbers.names,
    "re": lambda: regular_expressions.NAMES,
    "sets": lambda: dict(Set=set, ImmutableSet=frozenset),
    "sha": lambda: dict(new=_hash("sha1"), sha=_hash("sha1")),
    "string": _of_string,
    "StringIO": lambda: dict(StringIO=files.StringIO),
    "struct": lambda: dict(unpack=lambda form, data: struct.unpack(form, as_bytes(data)), pack=lambda *given: files.ByteString(struct.pack(*given))),
    "sys": _of_sys,
    "types": _of_types,
    "urllib": _of_urllib,
    "urllib2": _of_urllib2,
    "ConfigParser": _of_config_parser,
    "zlib": _of_zlib,
    "UserDict": lambda: dict(IterableUserDict=importlib.import_module("collections").UserDict, DictMixin=importlib.import_module("collections.abc").MutableMapping),
}  # fmt: skip
"""Module -> the names that it has in Python 2, which are made when the program imports it."""


@functools.cache
def find(name: str) -> types.ModuleType | None:
    """The module that a program gets for a name, or None where it gets what Python finds."""
    if name not in OWN and name not in MOVED:
        return None
    of_today = importlib.import_module(MOVED.get(name, name))
    return Module(name, of_today, OWN[name]() if name in OWN else {})
