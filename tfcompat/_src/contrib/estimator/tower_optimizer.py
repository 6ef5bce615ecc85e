"""tf.contrib.estimator.TowerOptimizer: an optimizer that applies the gradients of all towers when the last one is built."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import control_dependencies, device, get_default_graph, name_scope
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.losses.losses import Reduction
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.control.groups import no_op
from tfcompat._src.ops.math.binary import div
from tfcompat._src.ops.math.scan import add_n
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.variables.scope import variable_scope


class Towers:
    """The copies of a model that a graph is being given, and the gradients that their optimizers computed."""

    def __init__(self) -> None:
        self.count, self.reduction, self.current = 1, None, 0
        self.scopes_of_the_first: tuple[Any, str] | None = None
        self.gradients: dict[int, list[list[tuple[Any, Any]]]] = defaultdict(list)
        self.optimizer_was_used = False

    @contextlib.contextmanager
    def tower(self, number: int, variables: object, names: str) -> Iterator[None]:
        """A context in which tower `number` is built, in these scopes."""
        if number == 0:
            self.scopes_of_the_first = variables, names
        self.current = number
        yield

    def latest_gradients(self) -> Iterator[tuple[Any, Any]]:
        """Gradients and variables that all towers so far gave to the optimizer whose turn it is in this one."""
        turn = len(self.gradients[self.current]) - 1
        for number in range(self.current + 1):
            yield from self.gradients[number][turn]

    def had_same_calls(self) -> bool:
        return sum(map(len, self.gradients.values())) % self.count == 0


def scaled(loss: object, reduction: str | None, count: int) -> Any:
    """The share of one of `count` towers in the whole loss."""
    if loss is None or count == 1 or reduction == Reduction.SUM:
        return loss
    return div(loss, 1.0 * count, name="averaged_loss")


def summed_on(where: str, values: list[Any], name: str | None = None) -> IndexedSlices | Tensor:
    """The sum of Tensors or IndexedSlices, computed on a device."""
    with device(where):
        if not isinstance(values[0], IndexedSlices):
            return add_n(values, name=name)
        rows = concat([v.values for v in values], axis=0)
        return IndexedSlices(rows, concat([v.indices for v in values], axis=0), values[0].dense_shape)


@export("contrib.estimator.TowerOptimizer")
class TowerOptimizer(Optimizer):
    """Sums the gradients that the towers of `replicate_model_fn` compute and applies them once, in the last tower.

    Without towers every call is the inner optimizer's.

    Args:
      optimizer_or_optimizer_fn: the inner optimizer, or a function without arguments that gives it.
    """

    COLLECTION_FOR_GRAPH_STATES = "replicate_model_fn_graph_states"

    def __init__(self, optimizer_or_optimizer_fn: Optimizer | Callable[[], Optimizer]) -> None:
        self._optimizer_or_optimizer_fn = optimizer_or_optimizer_fn

    @staticmethod
    def _graph_state() -> Towers:
        states = get_default_graph().get_collection_ref(TowerOptimizer.COLLECTION_FOR_GRAPH_STATES)
        if not states:
            states.append(Towers())
        return states[-1]

    @staticmethod
    def _clear_graph_state() -> None:
        get_default_graph().clear_collection(TowerOptimizer.COLLECTION_FOR_GRAPH_STATES)

    @staticmethod
    def has_been_used() -> bool:
        """Whether a tower of the default graph uses such an optimizer."""
        return TowerOptimizer._graph_state().optimizer_was_used

    def _get_optimizer(self) -> Optimizer:
        if callable(self._optimizer_or_optimizer_fn):
            self._optimizer_or_optimizer_fn = self._optimizer_or_optimizer_fn()
        self._graph_state().optimizer_was_used = True
        return self._optimizer_or_optimizer_fn

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        return self._get_optimizer().get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        return self._get_optimizer().get_slot_names(*args, **kwargs)

    def get_name(self, *args: Any, **kwargs: Any) -> str:
        return self._get_optimizer().get_name(*args, **kwargs)

    def variables(self, *args: Any, **kwargs: Any) -> list[Any]:
        return self._get_optimizer().variables(*args, **kwargs)

    def compute_gradients(self, loss: Tensor, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """The inner optimizer's gradients of this tower's share of the loss."""
        towers = self._graph_state()
        return self._get_optimizer().compute_gradients(scaled(loss, towers.reduction, towers.count), *args, **kwargs)

    def apply_gradients(self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: object = None, **kwargs: Any) -> Operation:
        """Applies the sum of all towers' gradients in the last tower; an operation that does nothing in those before."""
        towers, pairs = self._graph_state(), list(grads_and_vars)
        if towers.count == 1:
            return self._get_optimizer().apply_gradients(pairs, global_step, **kwargs)
        towers.gradients[towers.current].append(pairs)
        if towers.current < towers.count - 1:
            with control_dependencies([g.values if isinstance(g, IndexedSlices) else g for g, _ in pairs if g is not None]):
                return no_op(name="train_op_placeholder")
        variables, names = towers.scopes_of_the_first  # type: ignore[misc]
        with variable_scope(variables), name_scope(names):
            return self._apply_sums(towers, global_step, **kwargs)

    def _apply_sums(self, towers: Towers, global_step: object, **kwargs: Any) -> Operation:
        optimizer = self._get_optimizer()
        given: dict[Any, list[Any]] = {}
        for grad, var in towers.latest_gradients():
            if grad is not None:
                given.setdefault(var, []).append(grad)
        with name_scope("gradient_aggregating"):
            sums = [(summed_on(var.device, grads), var) for var, grads in given.items()]
        return optimizer.apply_gradients(sums, global_step=global_step, **kwargs)
