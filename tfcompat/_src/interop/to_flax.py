"""tfcompat.interop.to_flax: a run of a graph as a flax module whose parameters have TensorFlow's names."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.interop.to_jax import to_jax
from tfcompat._src.ops.flow.array_value import FIRST_CAPACITY


@export("interop.to_flax")
def to_flax(
    fetches: Any, feeds: Sequence[Any], session: SessionLike | None = None, *, fixed: Mapping[Any, Any] | None = None, capacity: int = FIRST_CAPACITY
) -> tuple[Any, dict[str, Any]]:
    """A run as a flax.linen module, and its variables.

    Args:
      fetches, feeds, session, fixed, capacity: as of tfcompat.to_jax.

    Returns:
      module and variables. `module.apply(variables, *feeds)` gives the fetched values. variables["params"] are the trainable variables and
      variables["state"] all others, by their names in the graph; `mutable=["state"]` gives what the run leaves in them. `rngs={"random": key}`
      gives random operations a key; without it they start from where the session stands in each call. `module.init(key, *feeds)` gives the
      values that the variables have now.

    Raises:
      NotImplementedError: as of to_jax, and where the run changes a trainable variable: flax leaves that to the loop around it.
      ModuleNotFoundError: flax is not installed.
    """
    linen = importlib.import_module("flax.linen")
    fn, start = to_jax(fetches, feeds, session, fixed=fixed, capacity=capacity)
    updated = fn.updated & set(start["trainable"])
    if updated:
        raise NotImplementedError(f"The run changes {', '.join(sorted(updated))}: fetch the loss or the predictions, and let JAX's loop train.")

    def call(self: Any, *feeds: Any) -> Any:
        trainable = {name: self.param(name, lambda _, value=value: value) for name, value in start["trainable"].items()}
        others = {name: self.variable("state", name, lambda value=value: value) for name, value in start["other"].items()}
        params = {**start, "trainable": trainable, "other": {name: held.value for name, held in others.items()}}
        rng = self.make_rng("random") if start["random"] and self.has_rng("random") else None
        found, new = fn(params, *feeds, rng=rng)
        if not self.is_initializing() and self.is_mutable_collection("state"):
            for name, held in others.items():
                held.value = new["other"][name]
        return found

    call.__name__ = "__call__"
    module = type("GraphModule", (linen.Module,), {"__call__": linen.compact(call), "__module__": __name__})()
    return module, {"params": dict(start["trainable"]), "state": dict(start["other"])}
