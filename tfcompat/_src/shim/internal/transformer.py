"""`tensorflow.python.autograph.pyct.transformer`: programs define subclasses when imported; tfcompat's AutoGraph has no such trees."""

from __future__ import annotations

import ast
from typing import Any


class Base(ast.NodeTransformer):
    """A class that may be subclassed, but not used: AutoGraph's own syntax trees are not there."""

    def __init__(self, ctx: Any) -> None:
        raise NotImplementedError("tensorflow.python.autograph.pyct.transformer.Base")
