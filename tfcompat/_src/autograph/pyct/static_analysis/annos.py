"""`tensorflow.python.autograph.pyct.static_analysis.annos`: keys of the notes of `activity`."""

from __future__ import annotations

from tfcompat._src.autograph.pyct.anno import NoValue


class NodeAnno(NoValue):
    """Notes on nodes."""

    IS_LOCAL = "The symbol is local to the function."
    IS_PARAM = "The symbol is a parameter of the function."
    IS_MODIFIED_SINCE_ENTRY = "The symbol was given another value in the function."
    ARGS_SCOPE = "The symbols of the arguments of a call."
    COND_SCOPE = "The symbols of the test of a statement."
    ITERATE_SCOPE = "The symbols that a `for` gives its elements to."
    BODY_SCOPE = "The symbols of the body of a statement; of an `if`, of the branch for true."
    ORELSE_SCOPE = "The symbols of the `else` of a statement."
