"""Calls, branches and loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tfcompat._src.base.jax_compat import ClosedJaxpr
from tfcompat._src.interpreter.evaluator import Evaluator
from tfcompat._src.interpreter.table import Equation, primitive


@primitive("pjit", "jit", "closed_call", "core_call", "core_closed_call", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr")
def call(e: Equation) -> Callable:
    body = next(e.params[k] for k in ("jaxpr", "call_jaxpr", "fun_jaxpr") if k in e.params)
    return Evaluator(body).inner


@primitive("remat", "remat2", "checkpoint")
def rematerialized(e: Equation) -> Callable:
    return Evaluator(ClosedJaxpr(e.params["jaxpr"], ())).inner


@primitive("cond")
def cond(e: Equation) -> Callable:
    branches = [Evaluator(b).inner for b in e.params["branches"]]
    last = len(branches) - 1
    return lambda index, *args: branches[min(max(int(index), 0), last)](*args)


@primitive("while")
def while_loop(e: Equation) -> Callable:
    test, body = Evaluator(e.params["cond_jaxpr"]).inner, Evaluator(e.params["body_jaxpr"]).inner
    of_test, of_body = e.params["cond_nconsts"], e.params["body_nconsts"]

    def run(*args: np.ndarray) -> list:
        for_test, for_body = args[:of_test], args[of_test : of_test + of_body]
        carry = list(args[of_test + of_body :])
        while test(*for_test, *carry)[0]:
            carry = body(*for_body, *carry)
        return carry

    return run


@primitive("scan")
def scan(e: Equation) -> Callable:
    p = e.params
    body, consts, carries, length = Evaluator(p["jaxpr"]).inner, p["num_consts"], p["num_carry"], p["length"]
    order = range(length - 1, -1, -1) if p["reverse"] else range(length)
    stacked = e.outputs[carries:]

    def run(*args: np.ndarray) -> list:
        constants, carry, sequences = args[:consts], list(args[consts : consts + carries]), args[consts + carries :]
        stacks = [np.empty(a.shape, a.dtype) for a in stacked]
        for i in order:
            results = body(*constants, *carry, *[s[i] for s in sequences])
            carry = results[:carries]
            for stack, value in zip(stacks, results[carries:], strict=True):
                stack[i] = value
        return [*carry, *stacks]

    return run


@primitive("optimization_barrier")
def barrier(e: Equation) -> Callable:
    return lambda *args: list(args)


@primitive("copy", "copy_p", "stop_gradient", "sharding_constraint", "reduce_and_pvary")
def identity(e: Equation) -> Callable:
    return lambda x: x


@primitive("device_put")
def device_put(e: Equation) -> Callable:
    return lambda *args: list(args)
