"""tfcompat.interop.to_flax: a run of a graph as a flax module whose parameters have TensorFlow's names."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.interop.to_jax import JaxFunction, Params, to_jax
from tfcompat._src.ops.flow.array_value import FIRST_CAPACITY


@export("interop.to_flax")
def to_flax(
    fetches: object, feeds: Sequence[Any], session: SessionLike | None = None, *, fixed: Mapping[Any, Any] | None = None, capacity: int = FIRST_CAPACITY,
    api: str = "linen",
) -> tuple[Any, Any]:  # fmt: skip
    """A run as a module of flax.linen or flax.nnx, and its variables.

    Args:
      fetches, feeds, session, fixed, capacity: as of tfcompat.to_jax.
      api: "linen" or "nnx".

    Returns:
      module and variables.
      linen: `module.apply(variables, *feeds)` gives the fetched values. variables["params"] are the trainable variables and
      variables["state"] all others, by their names in the graph; `mutable=["state"]` gives what the run leaves in them. `rngs={"random": key}`
      gives random operations a key; without it they start from where the session stands in each call. `module.init(key, *feeds)` gives the
      values that the variables have now.
      nnx: `module(*feeds)` gives the fetched values and updates the module. `module.params["dense/kernel"]` is an nnx.Param,
      `module.state["global_step"]` an nnx.Variable, and `module.random` has where random operations stand. `module(*feeds, rng=key)` gives
      them a key for one call. variables is nnx.state(module).

    Raises:
      NotImplementedError: as of to_jax, and where the run changes a trainable variable: flax leaves that to the loop around it.
      ValueError: `api` is neither. ModuleNotFoundError: flax is not installed.
    """
    if api not in ("linen", "nnx"):
        raise ValueError(f'api must be "linen" or "nnx", but got {api!r}.')
    fn, start = to_jax(fetches, feeds, session, fixed=fixed, capacity=capacity)
    updated = fn.updated & set(start["trainable"])
    if updated:
        raise NotImplementedError(f"The run changes {', '.join(sorted(updated))}: fetch the loss or the predictions, and let JAX's loop train.")
    return _linen_module(fn, start) if api == "linen" else _nnx_module(fn, start)


def _linen_module(fn: JaxFunction, start: Params) -> tuple[Any, dict[str, Any]]:
    linen = importlib.import_module("flax.linen")

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


def _nnx_module(fn: JaxFunction, start: Params) -> tuple[Any, Any]:
    nnx = importlib.import_module("flax.nnx")

    def variables(kind: Any, group: str) -> Any:
        return nnx.Dict({name: kind(jnp.asarray(value)) for name, value in start[group].items()})

    def values(held: Any) -> dict[str, Any]:
        return {name: variable.get_value() for name, variable in held.items()}

    class GraphModule(nnx.Module):  # type: ignore[name-defined,misc]
        def __init__(self) -> None:
            self.params = variables(nnx.Param, "trainable")
            self.state = variables(nnx.Variable, "other")
            self.random = variables(nnx.Variable, "random")

        def __call__(self, *feeds: Any, rng: object = None) -> Any:
            params = {**start, "trainable": values(self.params), "other": values(self.state), "random": values(self.random)}
            found, new = fn(params, *feeds, rng=rng)
            for group, held in (("other", self.state), ("random", self.random)):
                for name, variable in held.items():
                    variable.set_value(new[group][name])
            return found

    module = GraphModule()
    return module, nnx.state(module)
