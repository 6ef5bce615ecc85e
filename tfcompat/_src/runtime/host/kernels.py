"""Calls of kernels on NumPy values: which kernel an operation has there, how it is called, and how its errors become TensorFlow's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import jax
import numpy as np

from tfcompat._src.base import checks, errors, jax_compat, jax_threads
from tfcompat._src.base.arrays import NDArray, as_array, content_key
from tfcompat._src.base.recent import Recent
from tfcompat._src.graph import op_spec
from tfcompat._src.graph.operation import Operation
from tfcompat._src.interpreter import engine
from tfcompat._src.interpreter.float_environment import AsInPython
from tfcompat._src.ops.flow.stack import POP, PUSH
from tfcompat._src.runtime.lowering.lower import collecting, flatten_results
from tfcompat._src.runtime.passes.fold import near_kernel

Kernel: TypeAlias = Callable[..., object]
KernelCall: TypeAlias = Callable[[Operation, Kernel, list[object], dict[str, object]], object]


def numpy_kernel(op: Operation) -> tuple[Kernel, tuple[str, ...]]:
    """Returns the kernel of an operation for NumPy values, and the names of the attributes that it takes."""
    spec = op.spec
    # Preferred in this order: an exact NumPy kernel, one that is equal but for rounding, the device kernel.
    if spec.numpy_kernel is None and (near := near_kernel(op)) is not None:
        return near, op_spec.keyword_names(near)
    if spec.side == op_spec.HOST or spec.numpy_kernel is spec.kernel:
        return spec.kernel, spec.kernel_attrs
    if spec.numpy_kernel is None:
        return InterpretedKernel(op) if jax_compat.compiles_to_cpu() else spec.kernel, spec.kernel_attrs
    return spec.numpy_kernel, spec.fold_attrs


def caller(op: Operation) -> KernelCall:
    """Returns the function that calls an operation's kernel; in one that may block or run the user's Python code, the thread leaves JAX."""
    return _call_outside if op.spec.context or op.spec.effects.external and op.type not in (PUSH, POP) else call


def call(op: Operation, kernel: Kernel, arguments: list[object], keywords: dict[str, object]) -> object:
    """Calls a kernel; its errors become errors of TensorFlow, with the node of `op` unless they name one."""
    checks.COLLECTOR.op = op
    try:
        return kernel(*arguments, **keywords)
    except errors.OpError as e:
        if e.op is not None:
            raise
        raise e.at_node(op.node_def, op) from None
    except MemoryError as e:
        raise errors.ResourceExhaustedError(op.node_def, op, f"OOM when allocating tensor: {e}") from None
    except checks.OF_TRACING:
        raise
    except checks.BAD_INPUT as e:
        raise checks.unfit(op, e) from e


def _call_outside(op: Operation, kernel: Kernel, arguments: list[object], keywords: dict[str, object]) -> object:
    with jax_threads.Waiting():
        return call(op, kernel, arguments, keywords)


class _Form(NamedTuple):
    """A device kernel as a function of NumPy arrays, for arguments of one set of shapes and constants.

    Attributes:
      evaluate: computes the results, whether each check holds, and the values of the checks' messages. results: how many results there are.
      checks: those of the kernel.
    """

    evaluate: Callable[[list[NDArray]], Sequence[NDArray]]
    results: int
    checks: tuple[checks.Check, ...]


class InterpretedKernel:
    """A device kernel on NumPy values: nothing is compiled, the interpreter evaluates the kernel's trace.

    The trace is made once for arguments of the same shapes and the same constants. A kernel that the interpreter cannot evaluate is called on
    JAX's arrays.
    """

    def __init__(self, op: Operation) -> None:
        self._op, self._kernel = op, op.spec.kernel
        self._forms: Recent[tuple[object, ...], _Form | None] = Recent()
        self._constants = op.constant_positions()

    def __call__(self, *arguments: object, **keywords: object) -> object:
        leaves, structure = jax.tree.flatten((arguments, keywords.pop("rng", ())))
        if not all(isinstance(v, np.ndarray | np.generic) for v in leaves):
            return self._directly(arguments, keywords, structure, leaves)
        arrays = [as_array(v) for v in leaves]
        key = tuple([content_key(v) if i in self._constants else (v.shape, v.dtype) for i, v in enumerate(arrays)])
        if key in self._forms:
            form = self._forms[key]
        else:
            form = self._forms[key] = self._formed(arrays, structure, keywords)
        if form is None:
            return self._directly(arguments, keywords, structure, leaves)
        values = form.evaluate([v for i, v in enumerate(arrays) if i not in self._constants])
        self._check(form.checks, values[form.results :])
        return list(values[: form.results])

    def _directly(self, arguments: tuple[object, ...], keywords: dict[str, object], structure: jax.tree_util.PyTreeDef, leaves: list[object]) -> object:
        """Calls the kernel on JAX's arrays, with its checks."""
        rng = jax.tree.unflatten(structure, leaves)[1]
        with collecting() as found:
            results = self._kernel(*arguments, **keywords, **({"rng": rng} if rng else {}))
        self._check(found, [v for check in found for v in (check.ok, *check.traced_values())])
        return results

    def _formed(self, arrays: list[NDArray], structure: jax.tree_util.PyTreeDef, keywords: dict[str, object]) -> _Form | None:
        """Traces the kernel for arguments like these; None if the interpreter lacks something in the trace."""
        made: list[tuple[int, tuple[checks.Check, ...]]] = []

        def compute(*traced: object) -> list[object]:
            given = iter(traced)
            leaves = [v if i in self._constants else next(given) for i, v in enumerate(arrays)]
            arguments, rng = jax.tree.unflatten(structure, leaves)
            with collecting() as found:
                checks.COLLECTOR.op = self._op
                results = flatten_results(self._kernel(*arguments, **keywords, **({"rng": rng} if rng else {})))
            made.append((len(results), tuple([check.without_traced_values() for check in found])))
            return [*results, *(v for check in found for v in (check.ok, *check.traced_values()))]

        shapes = [jax.ShapeDtypeStruct(v.shape, v.dtype) for i, v in enumerate(arrays) if i not in self._constants]
        with AsInPython():
            trace = jax_compat.made_trace(compute, shapes)
        if engine.missing(trace.jaxpr):
            return None
        return _Form(engine.prepare(trace).evaluate, *made[-1])

    def _check(self, made: Sequence[checks.Check], values: Sequence[object]) -> None:
        """Raises the error of the first check that failed; `values` has the flag and the values of each."""
        left = iter(values)
        for check in made:
            holds, found = bool(next(left)), [next(left) for v in check.values if v is None or isinstance(v, jax.Array)]
            if not holds:
                raise check.failure(check.merge_values(found))
