"""Branches, loops and primitives that forward their arguments.

Functions of branches and loops take one list of arguments and clear it (`evaluator.EMPTYING`): the list owns the carry, so that a loop body may
update its arrays in place.
"""

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
    """A branch of a conditional, prepared when it is first taken."""

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
    # As in XLA, an index out of range selects the nearest branch.
    last = len(branches) - 1
    return lambda arguments: branches[min(max(int(arguments.pop(0)), 0), last)].run(arguments)


@primitive("while")
def while_loop(e: Equation) -> ToArrays:
    test, body = Evaluator(e.params["cond_jaxpr"]).run, Evaluator(e.params["body_jaxpr"]).run
    test_consts, body_consts = e.params["cond_nconsts"], e.params["body_nconsts"]
    # Zero iterations for inner loops of unknown length: those spend their own work when they run.
    per_iteration = cost(e.params["cond_jaxpr"], 0).plus(cost(e.params["body_jaxpr"], 0)).nanoseconds

    def run(carry: list[NDArray]) -> list[NDArray]:
        # The arguments are the constants of the condition, those of the body, and the carry.
        for_test, for_body = carry[:test_consts], carry[test_consts : test_consts + body_consts]
        del carry[: test_consts + body_consts]
        while test([*for_test, *carry])[0]:
            # The length of the loop is unknown before: its work is counted as it happens, and may exceed the limit.
            spend(per_iteration)
            # The body clears `carry`; constants go before it in the same list, so that no second list refers to the carried arrays.
            carry[:0] = for_body
            carry[:] = body(carry)
        return carry

    return run


@primitive("scan")
def scan(e: Equation) -> ToArrays:
    p = e.params
    body, length, (consts, carries) = Evaluator(p["jaxpr"]).run, p["length"], scan_counts(p)
    # Stacked results are written at the index of the iteration, in a reversed scan too.
    order = range(length - 1, -1, -1) if p["reverse"] else range(length)
    stacked = e.outputs[carries:]

    def run(carry: list[NDArray]) -> list[NDArray]:
        constants, sequences = carry[:consts], carry[consts + carries :]
        # Outside of `carry` the sequences are referred to by `sequences` alone; the body gets one element of each per iteration.
        del carry[consts + carries :], carry[:consts]
        # As in XLA, outputs of all iterations are allocated at once.
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
