"""Entry point of the interpreter. Importing it fills the table: each family module registers its primitives when it is imported.

Exports `prepare`, `missing` and `has_unbounded_loops` of `evaluator`.
"""

from tfcompat._src.interpreter import (
    control,
    convolutions,
    elementwise,
    indexing,
    linear_algebra,
    movement,
    numpy_forms,
    products,
    reductions,
    sorting,
    special_functions,
    windows,
)
from tfcompat._src.interpreter.evaluator import Evaluator, has_unbounded_loops, missing, prepare
from tfcompat._src.interpreter.table import TABLE

__all__ = ["TABLE", "Evaluator", "has_unbounded_loops", "missing", "prepare"]
FAMILIES = (control, convolutions, elementwise, indexing, linear_algebra, movement, numpy_forms, products, reductions, sorting, special_functions, windows)
