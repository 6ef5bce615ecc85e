"""`tensorflow.python.framework.smart_cond`: a case of several branches where predicates may be known."""

from __future__ import annotations

from typing import Any

from tfcompat._src.ops.control.cond import smart_constant_value
from tfcompat._src.framework.indexed_slices import IndexedSlices
