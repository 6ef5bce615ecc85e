"""What Python 2 had and Python 3 has not: names, modules, methods and statements. `tfcompat run` runs such files as Python 2."""

from __future__ import annotations

import ast
import re
import warnings

from tfcompat._src.cli.python2 import modules, names

CONVERT = "tfcompat run runs a file of Python 2 with its meaning; the cells of a notebook are to be converted by hand"

BUILTINS = {
    "apply": "call the function: f(*args)", "basestring": "str", "buffer": "memoryview", "cmp": "(a > b) - (a < b)", "execfile": "exec(open(path).read())",
    "file": "open", "intern": "sys.intern", "long": "int", "raw_input": "input", "reduce": "functools.reduce", "reload": "importlib.reload",
    "unichr": "chr", "unicode": "str", "xrange": "range",
}  # fmt: skip
"""Built-in name -> what takes its place."""

MODULES = {
    "BaseHTTPServer": "http.server", "ConfigParser": "configparser", "Cookie": "http.cookies", "HTMLParser": "html.parser", "Queue": "queue",
    "SimpleHTTPServer": "http.server", "SocketServer": "socketserver", "StringIO": "io", "Tkinter": "tkinter", "UserDict": "collections", "__builtin__": "builtins",
    "cPickle": "pickle", "cStringIO": "io", "commands": "subprocess", "cookielib": "http.cookiejar", "copy_reg": "copyreg", "httplib": "http.client",
    "sets": "set", "thread": "_thread", "tkFileDialog": "tkinter.filedialog", "urllib2": "urllib.request", "urlparse": "urllib.parse", "xmlrpclib": "xmlrpc.client",
}  # fmt: skip
"""Module -> where its names are now."""

NAMES = {
    "itertools.ifilter": "filter", "itertools.imap": "map", "itertools.izip": "zip", "itertools.izip_longest": "itertools.zip_longest",
    "os.getcwdu": "os.getcwd", "string.join": "str.join", "string.letters": "string.ascii_letters", "string.lowercase": "string.ascii_lowercase",
    "string.maketrans": "str.maketrans", "string.split": "str.split", "string.uppercase": "string.ascii_uppercase", "sys.maxint": "sys.maxsize",
    "urllib.quote": "urllib.parse.quote", "urllib.unquote": "urllib.parse.unquote", "urllib.urlencode": "urllib.parse.urlencode",
    "urllib.urlopen": "urllib.request.urlopen", "urllib.urlretrieve": "urllib.request.urlretrieve",
}  # fmt: skip
"""Name of a module -> what takes its place."""

METHODS = {"has_key": "key in the_dict", "iteritems": "items", "iterkeys": "keys", "itervalues": "values"}
"""Method of a dict -> what takes its place."""

IDIOMS = {
    "range(a / b)": "divide with //: the quotient is a float in Python 3",
    "print >>file": "print is a function in Python 3: print(..., file=file)",
}  # fmt: skip
"""Idiom that compiles and fails when it runs -> what takes its place."""

GAVE_LISTS = ("filter", "map", "zip", "keys", "values", "items")
"""Functions and methods whose results had an index."""


_STATEMENTS = (
    (re.compile(r"(^|[:;])([ \t]*)print[ \t]*(?=$|;)", re.MULTILINE), r"\1\2pass"),
    (re.compile(r"(^|[:;])([ \t]*)print\b(?=[ \t]*[^\s=.(])", re.MULTILINE), r"\1\2_ ="),
    (re.compile(r"(^|[:;])([ \t]*)print[ \t]*(?=\()", re.MULTILINE), r"\1\2_ = "),
    (re.compile(r"(_ =[ \t]*)>>"), r"\1"),
    (re.compile(r"(^|[:;])([ \t]*)(exec|raise)\b(?=[ \t]+[^\s=.])", re.MULTILINE), r"\1\2_ ="),
    (re.compile(r"\bexcept[ \t]+([^:\n]+?),[ \t]*(\w+)[ \t]*:"), r"except \1 as \2:"),
    (re.compile(r"<>"), "!="),
    (re.compile(r"`([^`\n]+)`"), r"(\1)"),
    (re.compile(r"(?<![\w.])0([0-7]+)(?![\w.])"), r"0o\1"),
    (re.compile(r"(?<![\w.])(0[xX][0-9a-fA-F]+|\d+)[lL]\b"), r"\1"),
    (re.compile(r"\b[uU][rR](?=['\"])"), "r"),
)
"""Statements and literals of Python 2, and text that Python 3 parses with the same names on the same lines."""


def has(name: str) -> bool:
    """Whether `tfcompat run` gives a name (`xrange`, `itertools.izip`, `dict.has_key`) or an idiom (`.keys()[i]`) to a program of Python 2."""
    first, _, rest = name.partition(".")
    if name in IDIOMS or name.endswith("[i]") or name in vars(names.BUILTIN) or first in modules.MOVED:
        return True
    if first == "dict":
        return rest in METHODS
    return first in modules.OWN and hasattr(modules.find(first), rest)


def readable(text: str) -> ast.Module | None:
    """The syntax tree of a Python 2 program with its names on their lines, not with its meaning; None where that does not parse either."""
    text = text.expandtabs(8)
    for pattern, put in _STATEMENTS:
        text = pattern.sub(put, text)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
