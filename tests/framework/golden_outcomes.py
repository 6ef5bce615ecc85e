"""Pairs of expressions and their recorded outcomes, for the tests of the framework's leaf modules."""

import functools
import json
from pathlib import Path

from oracle import framework_expressions

from tfcompat._src.base import device, dtypes, nest, tensor_shape

GOLDEN = Path(__file__).resolve().parent.parent / "golden" / "framework"

PYTHON_SAYS = {  # since 3.14
    "TypeError: cannot use 'list' as a dict key (unhashable type: 'list')": "TypeError: unhashable type: 'list'",
    "ZeroDivisionError: division by zero": "ZeroDivisionError: integer division or modulo by zero",
}


@functools.cache
def _outcomes():
    names = framework_expressions.namespace(dtypes, tensor_shape, device, device, nest)
    return framework_expressions.all_outcomes(names)


def recorded(group):
    """(expression, outcome of the real TensorFlow) of a group."""
    return sorted(json.loads((GOLDEN / f"{group}.json").read_text()).items())


def found(group, expression):
    """The outcome of the expression here, in the words of the Python that the outcomes were recorded with."""
    outcome = _outcomes()[group][expression]
    return PYTHON_SAYS.get(outcome, outcome)
