"""tfcompat.interop.flax_layer: a flax module in a graph, with its parameters as variables of the graph."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tfcompat._src.base import dtypes, jax_compat
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.graph.op_spec import FROM_KERNEL, NotDifferentiable, op
from tfcompat._src.graph.scopes import add_to_collection, init_scope
from tfcompat._src.graph.shape_inference import InferenceContext
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.interop.held import Held
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.random.seeds import get_seed
from tfcompat._src.variables import assign
from tfcompat._src.variables.scope import get_variable, variable_scope

_SIZES = (31, 37)
"""What unknown sizes are while a module's shapes are found out; a size of a result that differs with them is unknown."""
_NOT_STATE = "intermediates"


@dataclass(eq=False)
class _Call:
    """A function of flat arrays and a key, and how many of its arrays are variables."""

    run: Callable[..., list[Any]]


_CALLS: Held[_Call] = Held("flax", "call flax_layer here again")


def _output_shapes(c: InferenceContext) -> list:
    return [shape.sizes for shape in c.attr("shapes")]


_ATTRIBUTES = "*, token: string, Tin: list(type) >= 0, Tout: list(type) >= 1, shapes: list(shape) >= 1) -> (output: Tout)"


@op("FlaxApply", f"(inputs: Tin, key: int32, {_ATTRIBUTES}", shape=_output_shapes, gradient=FROM_KERNEL)
def _flax_apply(inputs, key, *, token, Tout):  # noqa: N803
    return tuple(jnp.asarray(v, kind) for v, kind in zip(_CALLS.get(token).run(inputs, key), Tout, strict=True))


@op("FlaxInit", f"(key: int32, {_ATTRIBUTES}".replace("Tin: list(type) >= 0, ", ""), shape=_output_shapes,
    gradient=NotDifferentiable("initial values do not depend on anything"))  # fmt: skip
def _flax_init(key, *, token, Tout):  # noqa: N803
    return tuple(jnp.asarray(v, kind) for v, kind in zip(_CALLS.get(token).run((), key), Tout, strict=True))


def _key() -> Tensor:
    """Two random words of the run, from the seeds of the graph."""
    seed, seed2 = get_seed(None)
    ends = [convert_to_tensor(np.int32(n)) for n in (np.iinfo(np.int32).min, np.iinfo(np.int32).max)]
    return raw.RandomUniformInt([2], *ends, seed=seed or 0, seed2=seed2 or 0)


def _streams(key: object, names: Sequence[str]) -> dict[str, Any]:
    """A key for each stream of random numbers, from two words."""
    start = jax.random.wrap_key_data(jnp.asarray(key).view(jnp.uint32), impl="threefry2x32")
    return {name: jax.random.fold_in(start, i) for i, name in enumerate(names)}


def _attributes(kinds: Sequence[Any]) -> dict[str, list]:
    return {"Tout": [k.dtype for k in kinds], "shapes": [k.shape for k in kinds]}


@export("interop.flax_layer")
class FlaxLayer:
    """A flax module as a layer of a graph: `layer = flax_layer(module); y = layer(x)`.

    Its parameters are variables `<name>/<path in the module>`, which Saver, optimizers and collections know as others. What else the module
    keeps (batch statistics) are variables that are not trained; their updates are in the collection UPDATE_OPS, as those of
    tf.layers.batch_normalization are. Random streams of the module draw from the seeds of the graph. A second call uses the same variables.

    Args:
      module: a flax.linen module, or what has its `init` and `apply`; for flax.nnx, `flax.nnx.bridge.to_linen(Class, ...)`.
      name: of the variable scope; by default the module's name, or that of its class.
      rngs: the names of the random streams that calls use, beside "params".

    Attributes:
      variables: all of them, trainable_variables: the parameters, once the layer was called.
    """

    def __init__(self, module: Any, name: str | None = None, rngs: Sequence[str] = ("dropout",)) -> None:
        if not (callable(getattr(module, "init", None)) and callable(getattr(module, "apply", None))):
            raise TypeError(f"module must be a flax.linen.Module, not {module!r}; a flax.nnx module goes through flax.nnx.bridge.to_linen.")
        self._module, self._streams = module, tuple(rngs)
        self.name = name or getattr(module, "name", None) or type(module).__name__
        self.variables: list[Any] = []
        self._paths: list[tuple[str, ...]] = []
        self._structure: Any = None

    @property
    def trainable_variables(self) -> list[Any]:
        return [v for v, path in zip(self.variables, self._paths) if path[0] == "params"]

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """The module's result.

        Args:
          *inputs: what can become tensors. **options: Python values that `module.apply` takes, such as `train=True` or `method=`.

        Returns:
          tensors, in the structure of what the module gives.
        """
        tensors = [convert_to_tensor(x) for x in inputs]
        if not self.variables:
            self._create(tensors, options)
        return self._applied(tensors, options)

    def tree(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The variables of the module as `module.apply` takes them.

        Args:
          values: arrays by the names of variables, as in checkpoints or `params` of tfcompat.to_jax.
        """
        return jax.tree.unflatten(self._structure, [values[v.op.name] for v in self.variables])

    def _create(self, tensors: list[Tensor], options: dict[str, Any]) -> None:
        def init(_: object, key: Any, tensors: list[Any]) -> Any:
            found = self._module.init(_streams(key, ("params", *self._streams)), *tensors, **options)
            return {name: part for name, part in found.items() if name != _NOT_STATE}

        kinds = _inputs(tensors, _SIZES[0])
        with jax_compat.x64():
            found = jax.eval_shape(init, (), _KEY, kinds)
        leaves, self._structure = jax.tree_util.tree_flatten_with_path(found)
        self._paths = [tuple(str(getattr(k, "key", getattr(k, "name", k))) for k in path) for path, _ in leaves]
        names = ["/".join(path[1:]) for path in self._paths]
        if len(set(names)) < len(names):
            names = ["/".join(path if path[0] != "params" else path[1:]) for path in self._paths]
        token = _CALLS.add(_Call(lambda _, key: jax.tree.leaves(init((), key, [jnp.zeros(k.shape, k.dtype) for k in kinds]))))

        @functools.cache
        def start() -> list[Tensor]:
            with init_scope():
                return list(raw.function("FlaxInit")(_key(), token=token, **_attributes([leaf for _, leaf in leaves])))

        with variable_scope(self.name):
            for index, (path, (_, leaf), name) in enumerate(zip(self._paths, leaves, names)):
                variable = get_variable(
                    name, leaf.shape, dtypes.as_dtype(leaf.dtype), lambda *_, index=index, **__: start()[index], trainable=path[0] == "params"
                )
                self.variables.append(variable)

    def _applied(self, tensors: list[Tensor], options: dict[str, Any]) -> Any:
        states = sorted({path[0] for path in self._paths} - {"params"})
        count = len(self.variables)

        def apply(streams: Sequence[str], flat: Sequence[Any], key: Any) -> tuple[Any, list[Any]]:
            variables = jax.tree.unflatten(self._structure, [jnp.asarray(v) for v in flat[:count]])
            rngs = _streams(key, streams)
            result, new = self._module.apply(variables, *map(jnp.asarray, flat[count:]), rngs=rngs, mutable=states, **options)
            return result, jax.tree.leaves({**variables, **{name: new.get(name, variables[name]) for name in states}})

        held = [jax.ShapeDtypeStruct(v.shape.as_list(), v.dtype.base_dtype.as_numpy_dtype) for v in self.variables]
        with jax_compat.x64():
            streams = self._used_streams(apply, [*held, *_inputs(tensors, _SIZES[0])])
            found = [jax.eval_shape(functools.partial(apply, streams), [*held, *_inputs(tensors, n)], _KEY) for n in _SIZES]
            changed = _changed(functools.partial(apply, streams), [*held, *_inputs(tensors, _SIZES[0])], count)
        leaves, structure = jax.tree.flatten(found[0][0])
        kinds = [_Kind(a.dtype, _joined(a.shape, b.shape)) for a, b in zip(leaves, jax.tree.leaves(found[1][0]))]
        kinds += [_Kind(held[i].dtype, held[i].shape) for i in changed]

        def run(flat: Sequence[Any], key: object) -> list[Any]:
            result, new = apply(streams, flat, key)
            return [*jax.tree.leaves(result), *[new[i] for i in changed]]

        key = _key() if streams else convert_to_tensor(np.zeros(2, np.int32))
        inputs = [*[convert_to_tensor(v) for v in self.variables], *tensors]
        results = list(raw.function("FlaxApply")(inputs, key, token=_CALLS.add(_Call(run)), **_attributes(kinds), name=self.name))
        for position, index in enumerate(changed):
            update = assign.assign(self.variables[index], results[len(leaves) + position])
            add_to_collection(GraphKeys.UPDATE_OPS, update.op)
        return jax.tree.unflatten(structure, results[: len(leaves)])

    def _used_streams(self, apply: Callable[..., Any], arguments: list[Any]) -> tuple[str, ...]:
        """The random streams, or none where the call does without them."""
        try:
            jax.eval_shape(functools.partial(apply, ()), arguments, _KEY)
        except Exception as error:
            if type(error).__name__ != "InvalidRngError":  # flax's, which is not imported here
                raise
            return self._streams
        return ()


@dataclass(frozen=True)
class _Kind:
    dtype: Any
    shape: Any


_KEY = jax.ShapeDtypeStruct((2,), np.int32)


def _inputs(tensors: list[Tensor], size: int) -> list[jax.ShapeDtypeStruct]:
    """The kinds of tensors, with `size` for what is unknown; ValueError where a rank is."""
    found = []
    for t in tensors:
        if t.shape.ndims is None:
            raise ValueError(f"flax_layer needs tensors of known rank, but {t.name} has none: call set_shape.")
        found.append(jax.ShapeDtypeStruct([size if n is None else n for n in t.shape.as_list()], t.dtype.base_dtype.as_numpy_dtype))
    return found


def _joined(one: Sequence[int], other: Sequence[int]) -> list[int | None]:
    return [a if a == b else None for a, b in zip(one, other, strict=True)]


def _changed(apply: Callable[..., Any], arguments: list[Any], count: int) -> list[int]:
    """The positions of the variables that a call changes."""
    trace, shapes = jax.make_jaxpr(apply, return_shape=True)(arguments, _KEY)
    new = trace.jaxpr.outvars[len(jax.tree.leaves(shapes[0])) :]
    return [i for i in range(count) if new[i] is not trace.jaxpr.invars[i]]
