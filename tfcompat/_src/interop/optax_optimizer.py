"""tfcompat.interop.OptaxOptimizer: any optax transformation as a tf.train.Optimizer."""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import optax

from tfcompat._src.base import jax_compat
from tfcompat._src.base.export import export
from tfcompat._src.graph.op_spec import NotDifferentiable, op
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.graph.shape_inference import InferenceContext
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.interop.held import Held
from tfcompat._src.nodes import raw
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.control.groups import group
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.variables import assign
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike

_NOT_ALLOWED = re.compile(r"[^\w.\-/]+")


@dataclass(eq=False)
class _Registered:
    """A transformation for the variables of these names, and its state variables; their graph keeps it alive."""

    transformation: optax.GradientTransformation
    parameters: tuple[str, ...]
    leaves: list[jax.ShapeDtypeStruct]
    structure: Any
    variables: list[Any] = field(default_factory=list)


_TRANSFORMATIONS: Held[_Registered] = Held("optax", "make the OptaxOptimizer here again")


def _state_leaves(registered: _Registered, state: object) -> tuple:
    leaves = jax.tree_util.tree_leaves(state)
    return tuple(jnp.asarray(leaf).astype(wanted.dtype) for leaf, wanted in zip(leaves, registered.leaves, strict=True))


def _output_shapes(c: InferenceContext) -> list:
    return [shape.sizes for shape in c.attr("shapes")]


_ATTRIBUTES = "*, token: string, Tin: list(type) >= 1, Tout: list(type) >= 0, shapes: list(shape) >= 0) -> (output: Tout)"
_NO_GRADIENT = NotDifferentiable("an update of variables has no gradient")


@op("OptaxInit", f"(params: Tin, {_ATTRIBUTES}", shape=_output_shapes, gradient=_NO_GRADIENT)
def _optax_init(params, *, token):
    registered = _TRANSFORMATIONS.get(token)
    state = registered.transformation.init(dict(zip(registered.parameters, map(jnp.asarray, params))))
    return _state_leaves(registered, state)


@op("OptaxUpdate", f"(inputs: Tin, {_ATTRIBUTES}", shape=_output_shapes, gradient=_NO_GRADIENT)
def _optax_update(inputs, *, token):
    registered = _TRANSFORMATIONS.get(token)
    count, values = len(registered.parameters), list(map(jnp.asarray, inputs))
    grads, params = (dict(zip(registered.parameters, values[i * count : (i + 1) * count])) for i in (0, 1))
    state = jax.tree_util.tree_unflatten(registered.structure, values[2 * count :])
    updates, state = registered.transformation.update(grads, state, params)
    new = optax.apply_updates(params, updates)
    return (*(new[name] for name in registered.parameters), *_state_leaves(registered, state))


def _register(transformation: optax.GradientTransformation, variables: list[Any]) -> tuple[str, _Registered, list[str]]:
    """The token of a transformation for some variables, what it stands for, and the paths of the leaves of its state."""
    params = {}
    for v in variables:
        if not v.shape.is_fully_defined():
            raise ValueError(f"OptaxOptimizer needs variables of known shape; {v.name} has shape {v.shape}.")
        params[v.op.name] = jax.ShapeDtypeStruct(tuple(v.shape.as_list()), v.dtype.base_dtype.as_numpy_dtype)
    with jax_compat.x64():
        found = jax.eval_shape(transformation.init, params)
    leaves, structure = jax.tree_util.tree_flatten_with_path(found)
    registered = _Registered(transformation, tuple(params), [leaf for _, leaf in leaves], structure)
    token = _TRANSFORMATIONS.add(registered)
    paths = [jax.tree_util.keystr(path, simple=True, separator="/") for path, _ in leaves]
    return token, registered, [_NOT_ALLOWED.sub("_", path) for path in paths]


def _outputs(kinds: Iterable[Any]) -> dict[str, list]:
    """The attributes for outputs of the dtypes and shapes of `kinds`."""
    found = list(kinds)
    return {"Tout": [k.dtype for k in found], "shapes": [k.shape for k in found]}


@export("interop.OptaxOptimizer")
class OptaxOptimizer(Optimizer):
    """A tf.train.Optimizer that updates all its variables by one optax transformation, compiled into the training step.

    The state's leaves are variables called `<name>/<path of the leaf>`, saved and restored as others are. Sparse gradients
    are made dense.

    Args:
      transformation: an `optax.GradientTransformation`, such as `optax.lamb(1e-3)`; a schedule in it counts its own steps.
      use_locking: passed on to the assignments.
      name: name of the training operation and of the state.

    Raises:
      TypeError: `transformation` is no transformation. ValueError: a variable's shape is not known, or a second
      `apply_gradients` in the same graph has other variables.
    """

    def __init__(self, transformation: Any, use_locking: bool = False, name: str = "OptaxOptimizer") -> None:
        super().__init__(use_locking, name)
        if not (callable(getattr(transformation, "init", None)) and callable(getattr(transformation, "update", None))):
            raise TypeError(f"transformation must be an optax.GradientTransformation, not {transformation!r}.")
        self._transformation = transformation
        self._of_graph: weakref.WeakKeyDictionary[Any, tuple[str, _Registered]] = weakref.WeakKeyDictionary()
        self._gathered: list[tuple[Any, Tensor]] = []

    def _create_slots(self, var_list: list[Any]) -> None:
        graph, names = get_default_graph(), tuple(v.op.name for v in var_list)
        self._gathered = []
        if graph in self._of_graph:
            known = self._of_graph[graph][1].parameters
            if known != names:
                raise ValueError(f"{self._name} updates the variables {list(known)}; it cannot update {list(names)} as well.")
            return
        token, registered, paths = _register(self._transformation, var_list)
        if paths:
            start = raw.function("OptaxInit")(
                [v.initialized_value() for v in var_list], token=token, **_outputs(registered.leaves), name=self._name + "/init"
            )
            for path, value in zip(paths, start):
                state = Variable(value, trainable=False, name=f"{self._name}/{path}")
                self._non_slot_dict[(path, graph)] = state
                registered.variables.append(state)
                self._handle_deferred_dependencies(name=path, trackable=state)
        self._of_graph[graph] = (token, registered)

    def _update(self, grad: TensorLike, var: object) -> Operation:
        if isinstance(var, Tensor):
            raise NotImplementedError("Trying to update a Tensor ", var)
        dense = convert_to_tensor(grad)
        self._gathered.append((var, dense))
        return dense.op

    def _finish(self, update_ops: list[Any], name_scope: str) -> Operation:
        token, registered = self._of_graph[get_default_graph()]
        variables = [v for v, _ in self._gathered]
        inputs = [g for _, g in self._gathered]
        inputs += [convert_to_tensor(v) for v in (*variables, *registered.variables)]
        kinds = [*(g for _, g in self._gathered), *registered.leaves]
        found = raw.function("OptaxUpdate")(inputs, token=token, **_outputs(kinds), name="update")
        new = [v.constraint(t) if v.constraint is not None else t for v, t in zip(variables, found)]
        new += found[len(variables) :]
        targets = [*variables, *registered.variables]
        return group(
            *(assign.assign(v, t, use_locking=self._use_locking) for v, t in zip(targets, new)), name=name_scope
        )
