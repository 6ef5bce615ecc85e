"""The entry of the interpreter: `prepare` and `missing`, with all primitives in the table."""

from tfcompat._src.interpreter import (
    control,
    convolutions,
    draws,
    elementwise,
    indexing,
    linear_algebra,
    movement,
    products,
    reductions,
    sorting,
    special_functions,
    windows,
)
from tfcompat._src.interpreter.evaluator import Evaluator, missing, prepare
from tfcompat._src.interpreter.table import TABLE

__all__ = ["TABLE", "Evaluator", "missing", "prepare"]
FAMILIES = (control, convolutions, draws, elementwise, indexing, linear_algebra, movement, products, reductions, sorting, special_functions, windows)
