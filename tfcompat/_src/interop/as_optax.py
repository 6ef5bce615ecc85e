"""tfcompat.interop.as_optax: a tf.train.Optimizer as a transformation of optax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import optax

from tfcompat._src.base.dtypes import as_dtype
from tfcompat._src.base.export import export
from tfcompat._src.graph.graph import Graph
from tfcompat._src.interop.to_jax import to_jax
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.runtime.session.session import Session
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.variables.collections import global_variables_initializer
from tfcompat._src.variables.scope import get_variable
from tfcompat._src.variables.training_util import get_global_step

NOTHING: dict[str, dict[str, Any]] = {"trainable": {}, "other": {}, "constants": {}, "random": {}}


class _Step:
    """The optimizer's graph for parameters of some shapes and dtypes, as two functions: initial variables, and one step."""

    def __init__(self, optimizer: Optimizer | Callable[[], Optimizer], kinds: list[Any]) -> None:
        graph = Graph()
        with graph.as_default(), Session(graph=graph) as session:
            starts, grads = ([placeholder(as_dtype(k.dtype), k.shape) for k in kinds] for _ in range(2))
            variables = [get_variable(f"parameter_{i}", initializer=start) for i, start in enumerate(starts)]
            made = optimizer if isinstance(optimizer, Optimizer) else optimizer()
            train = made.apply_gradients(list(zip(grads, variables)), global_step=get_global_step())
            init = global_variables_initializer()
            self.start, _ = to_jax(init, starts, session)
            session.run(init, {t: np.zeros(k.shape, k.dtype) for t, k in zip(starts, kinds)})
            self.step, self._params = to_jax(train, grads, session)
        self._names = [v.op.name for v in variables]

    def init(self, leaves: list[Any]) -> dict[str, Any]:
        made = self.start(NOTHING, *leaves)[1]["other"]
        return {**{name: made[name] for name in self._params["other"]}, **self._params["random"]}

    def update(self, grads: list[Any], state: dict[str, Any], leaves: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        groups = {group: {name: state[name] for name in self._params[group]} for group in ("other", "random")}
        params = {**self._params, **groups, "trainable": dict(zip(self._names, leaves))}
        new = self.step(params, *grads)[1]
        return [new["trainable"][name] - old for name, old in zip(self._names, leaves)], {**new["other"], **new["random"]}


@export("interop.as_optax")
def as_optax(optimizer: Optimizer | Callable[[], Optimizer]) -> optax.GradientTransformation:
    """An optimizer of TensorFlow 1 as an optax transformation, with the same arithmetic.

    Args:
      optimizer: a tf.train.Optimizer whose rates are Python numbers; or a function without arguments that makes one in the default graph, for
        rates that are tensors. A schedule there uses `tf.train.get_or_create_global_step()`, which counts the updates.

    Returns:
      a transformation whose state is a dict of the optimizer's variables by their names ("parameter_0/Adam"), the parameters being numbered in
      the order of the leaves of their tree. `update` needs `params`.

    Raises:
      TypeError: `optimizer` is neither.
    """
    if not isinstance(optimizer, Optimizer) and not callable(optimizer):
        raise TypeError(f"optimizer must be a tf.train.Optimizer, or a function that makes one, not {optimizer!r}.")
    steps: dict[Any, _Step] = {}

    def step_for(leaves: list[Any]) -> _Step:
        kinds = [jax.typeof(jax.numpy.asarray(leaf)) for leaf in leaves]
        key = tuple([(k.shape, k.dtype) for k in kinds])
        if key not in steps:
            steps[key] = _Step(optimizer, kinds)
        return steps[key]

    def init(params: Any) -> dict[str, Any]:
        leaves = jax.tree.leaves(params)
        return step_for(leaves).init(leaves)

    def update(updates: Any, state: dict[str, Any], params: Any = None) -> tuple[Any, dict[str, Any]]:
        if params is None:
            raise ValueError("update needs params: tx.update(grads, state, params).")
        leaves, structure = jax.tree.flatten(params)
        found, state = step_for(leaves).update(structure.flatten_up_to(updates), state, leaves)
        return jax.tree.unflatten(structure, found), state

    return optax.GradientTransformation(init, update)
