"""`tensorflow.python.util.tf_inspect`: `inspect`, seeing through decorators."""

from __future__ import annotations

import collections
import inspect
from typing import Any

ArgSpec = collections.namedtuple("ArgSpec", ["args", "varargs", "keywords", "defaults"])
FullArgSpec = inspect.FullArgSpec
currentframe = inspect.currentframe
getcallargs = inspect.getcallargs
getdoc = inspect.getdoc
getfile = inspect.getfile
getmembers = inspect.getmembers
getmodule = inspect.getmodule
getmro = inspect.getmro
getsource = inspect.getsource
getsourcefile = inspect.getsourcefile
getsourcelines = inspect.getsourcelines
isbuiltin = inspect.isbuiltin
isclass = inspect.isclass
isframe = inspect.isframe
isfunction = inspect.isfunction
isgenerator = inspect.isgenerator
isgeneratorfunction = inspect.isgeneratorfunction
ismethod = inspect.ismethod
ismodule = inspect.ismodule
isroutine = inspect.isroutine
signature = inspect.signature
stack = inspect.stack


def getfullargspec(obj: Any) -> inspect.FullArgSpec:
    """The arguments of a function or class, of what it decorates where it is a decorator."""
    return inspect.getfullargspec(inspect.unwrap(obj))


def getargspec(obj: Any) -> ArgSpec:
    """The positional arguments of a function or class, in Python 2's form."""
    full = getfullargspec(obj)
    return ArgSpec(full.args, full.varargs, full.varkw, full.defaults)
