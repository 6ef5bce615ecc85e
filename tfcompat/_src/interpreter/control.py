"""Branches and loops, which take their arguments as a list that they empty, and what passes values on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfcompat._src.base.arrays import NDArray
from tfcompat._src.base.jax_compat import ClosedJaxpr, scan_counts
from tfcompat._src.interpreter.cost import cost
from tfcompat._src.interpreter.evaluator import Evaluator
from tfcompat._src.interpreter.limit import spend
from tfcompat._src.interpreter.table import Equation, ToArray, ToArrays, primitive


class _Branch:
    """A branch, prepared when it is taken for the first time."""

    def __init__(self, body: ClosedJaxpr) -> None:
        self._body = body
        self._evaluator: Evaluator | None = None

    def run(self, arguments: list[NDArray]) -> Sequence[NDArray]:
        if self._evaluator is None:
            self._evaluator = Evaluator(self._body)
        return self._evaluator.run(arguments)


@primitive("cond")
def cond(e: Equation) -> ToArrays:
    branches = [_Branch(b) for b in e.params["branches"]]
    last = len(branches) - 1
    return lambda arguments: branches[min(max(int(arguments.pop(0)), 0), last)].run(arguments)


@primitive("while")
def while_loop(e: Equation) -> ToArrays:
    test, body = Evaluator(e.params["cond_jaxpr"]).run, Evaluator(e.params["body_jaxpr"]).run
    of_test, of_body = e.params["cond_nconsts"], e.params["body_nconsts"]
    of_a_round = cost(e.params["cond_jaxpr"], 0).plus(cost(e.params["body_jaxpr"], 0)).nanoseconds

    def run(carry: list[NDArray]) -> list[NDArray]:
        for_test, for_body = carry[:of_test], carry[of_test : of_test + of_body]
        del carry[: of_test + of_body]
        while test([*for_test, *carry])[0]:
            spend(of_a_round)
            carry[:0] = for_body
            carry[:] = body(carry)
        return carry

    return run


@primitive("scan")
def scan(e: Equation) -> ToArrays:
    p = e.params
    body, length, (consts, carries) = Evaluator(p["jaxpr"]).run, p["length"], scan_counts(p)
    order = range(length - 1, -1, -1) if p["reverse"] else range(length)
    stacked = e.outputs[carries:]

    def run(carry: list[NDArray]) -> list[NDArray]:
        constants, sequences = carry[:consts], carry[consts + carries :]
        del carry[consts + carries :], carry[:consts]
        stacks = [np.empty(a.shape, a.dtype) for a in stacked]
        for i in order:
            carry[:0] = constants
            carry.extend([s[i] for s in sequences])
            carry[:] = body(carry)
            for stack, value in zip(stacks, carry[carries:], strict=True):
                stack[i] = value
            del carry[carries:]
        return [*carry, *stacks]

    return run


@primitive("optimization_barrier", "device_put")
def barrier(e: Equation) -> ToArrays:
    return lambda *args: args


@primitive("copy", "copy_p", "stop_gradient", "sharding_constraint", "layout_constraint", "reduce_and_pvary")
def identity(e: Equation) -> ToArray:
    return lambda x: x


@primitive("platform_index")
def platform_index(e: Equation) -> ToArray:
    place = next(i for i, names in enumerate(e.params["platforms"]) if names is None or "cpu" in names)
    index = np.array(place, np.int32)
    return lambda: index
