"""Minimization under inequality constraints as a game between the model's variables and multipliers (Cotter, Jiang &
Sridharan 2019)."""

from __future__ import annotations

import abc
import contextlib
from typing import TYPE_CHECKING, Any

from tfcompat._src.base.export import export
from tfcompat._src.graph.operation import Operation
from tfcompat._src.graph.scopes import colocate_with, control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.convert import convert_to_tensor
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.train.optimizer import Optimizer
from tfcompat._src.variables import assign
from tfcompat._src.variables.variable import Variable

if TYPE_CHECKING:
    from tfcompat._src.base.arrays import TensorLike


@export("contrib.constrained_optimization.ConstrainedMinimizationProblem")
class ConstrainedMinimizationProblem(abc.ABC):
    """Minimize `objective` where every element of `constraints` is at most 0."""

    @property
    @abc.abstractmethod
    def objective(self) -> Tensor:
        """The loss, a scalar tensor."""

    @property
    @abc.abstractmethod
    def constraints(self) -> Tensor:
        """What is to be at most 0, a tensor of any shape; it need not have gradients where there are proxies."""

    @property
    def num_constraints(self) -> int:
        """How many constraints there are. ValueError: shapes are not known, or constraints and proxies differ in shape."""
        shape = self.constraints.shape
        proxies = shape if self.proxy_constraints is None else self.proxy_constraints.shape
        if not (shape.is_fully_defined() and proxies.is_fully_defined()):
            raise ValueError("constraints and proxy_constraints must have fully-known shapes")
        if shape != proxies:
            raise ValueError("constraints and proxy_constraints must have the same shape")
        return int(shape.num_elements())

    @property
    def proxy_constraints(self) -> Tensor | None:
        """What gradients are taken of in place of the constraints, or None."""
        return None

    @property
    def pre_train_ops(self) -> None:
        """Operations to run before each step, or None."""
        return None


class _Options:
    """The arguments of a call of minimize, as 1.15 spells them."""

    def __init__(
        self, global_step: Any, var_list: object, gate_gradients: int, aggregation_method: object,
        colocate_gradients_with_ops: bool, name: str | None, grad_loss: object,
    ) -> None:  # fmt: skip
        self.global_step, self.name = global_step, name
        self.gradients = {
            "var_list": var_list,
            "gate_gradients": gate_gradients,
            "aggregation_method": aggregation_method,
            "colocate_gradients_with_ops": colocate_gradients_with_ops,
            "grad_loss": grad_loss,
        }

    def arguments(self) -> dict[str, Any]:
        return {"global_step": self.global_step, "name": self.name, **self.gradients}


def _after(operations: Any) -> Any:
    return control_dependencies(operations) if operations else contextlib.nullcontext()


@export("contrib.constrained_optimization.ConstrainedOptimizer")
class ConstrainedOptimizer(abc.ABC):
    """Base class of optimizers for a ConstrainedMinimizationProblem; a subclass defines `_minimize_constrained`.

    Args:
      optimizer: a tf.train.Optimizer of the model's variables.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer of the model's variables."""
        return self._optimizer

    @abc.abstractmethod
    def _minimize_constrained(
        self, minimization_problem: ConstrainedMinimizationProblem, global_step: Any = None, var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False, name: str | None = None, grad_loss: Any = None,
    ) -> Operation:  # fmt: skip
        """The operation of one step under the constraints."""

    def minimize_constrained(
        self, minimization_problem: ConstrainedMinimizationProblem, global_step: object = None, var_list: object = None,
        gate_gradients: int = Optimizer.GATE_OP, aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False, name: str | None = None, grad_loss: object = None,
    ) -> Operation:  # fmt: skip
        """The operation of one step under the constraints; see tf.train.Optimizer.minimize for the arguments."""
        options = _Options(
            global_step, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, name, grad_loss
        )
        with _after(minimization_problem.pre_train_ops):
            return self._minimize_constrained(minimization_problem, **options.arguments())

    def minimize_unconstrained(
        self, minimization_problem: ConstrainedMinimizationProblem, global_step: object = None, var_list: object = None,
        gate_gradients: int = Optimizer.GATE_OP, aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False, name: str | None = None, grad_loss: object = None,
    ) -> Operation:  # fmt: skip
        """The operation of one step that passes over the constraints; see tf.train.Optimizer.minimize."""
        options = _Options(
            global_step, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, name, grad_loss
        )
        with _after(minimization_problem.pre_train_ops):
            return self.optimizer.minimize(minimization_problem.objective, **options.arguments())

    def minimize(
        self, minimization_problem: ConstrainedMinimizationProblem, unconstrained_steps: TensorLike | None = None,
        global_step: object = None, var_list: object = None, gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: object = None, colocate_gradients_with_ops: bool = False, name: str | None = None,
        grad_loss: object = None,
    ) -> Any:  # fmt: skip
        """The operation of one step; for the first `unconstrained_steps` it passes over the constraints.

        Raises:
          ValueError: `unconstrained_steps` is given without `global_step`.
        """
        arguments = _Options(
            global_step, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, name, grad_loss
        ).arguments()

        def constrained() -> Operation:
            return self.minimize_constrained(minimization_problem, **arguments)

        if unconstrained_steps is None:
            return constrained()
        if global_step is None:
            raise ValueError("global_step cannot be None if unconstrained_steps is provided")
        limit = convert_to_tensor(unconstrained_steps)
        return cond(
            cast(global_step, limit.dtype) < limit,
            true_fn=lambda: self.minimize_unconstrained(minimization_problem, **arguments),
            false_fn=constrained,
        )


class RegretOptimizer(ConstrainedOptimizer):
    """What the optimizers share that keep the state of the constraints' player in a variable.

    Args:
      optimizer: of the model's variables.
      constraint_optimizer: of the state; by default `optimizer`.
    """

    _state_name: str

    def __init__(self, optimizer: Optimizer, constraint_optimizer: Optimizer | None = None) -> None:
        super().__init__(optimizer=optimizer)
        self._constraint_optimizer = constraint_optimizer

    @property
    def constraint_optimizer(self) -> Optimizer | None:
        """The optimizer of the state, or None."""
        return self._constraint_optimizer

    @abc.abstractmethod
    def _initial_state(self, num_constraints: int) -> Tensor:
        """What the state is at first."""

    @abc.abstractmethod
    def _projection_op(self, state: Any, name: str | None = None) -> Any:
        """The operation that brings the state back to where it is allowed."""

    def _constraint_grad_and_var(self, state: object, gradient: Tensor) -> tuple[Tensor, Any]:
        return -gradient, state

    @abc.abstractmethod
    def _loss_and_gradient(
        self, objective: Tensor, constraints: Tensor, proxies: Tensor, state: Any
    ) -> tuple[Tensor, Tensor]:
        """The loss of the model's variables, and the gradient of the state."""

    def _minimize_constrained(
        self, minimization_problem: ConstrainedMinimizationProblem, global_step: TensorLike | None = None, var_list: object = None,
        gate_gradients: int = Optimizer.GATE_OP, aggregation_method: object = None,
        colocate_gradients_with_ops: bool = False, name: str | None = None, grad_loss: object = None,
    ) -> Any:  # fmt: skip
        options = _Options(
            global_step, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, name, grad_loss
        )
        objective, constraints = minimization_problem.objective, minimization_problem.constraints
        proxies = minimization_problem.proxy_constraints
        proxies = constraints if proxies is None else proxies
        if len({t.dtype.base_dtype for t in (objective, constraints, proxies)}) > 1:
            raise ValueError("objective, constraints and proxy_constraints must have the same dtype")
        count = minimization_problem.num_constraints
        constraints, proxies = reshape(constraints, shape=(count,)), reshape(proxies, shape=(count,))
        state = Variable(lambda: self._initial_state(count), trainable=False, name=self._state_name, use_resource=True)
        loss, gradient = self._loss_and_gradient(objective, constraints, proxies, state)
        updates = self._updates(loss, state, gradient, options)
        with control_dependencies(updates):
            if global_step is None:
                return self._projection_op(state, name=name)
            projected = self._projection_op(state, name="project")
            with colocate_with(global_step):
                counted = assign.assign_add(global_step, 1, name="global_step_increment")
            return group(projected, counted, name=name)

    def _updates(self, loss: Tensor, state: object, gradient: Tensor, options: _Options) -> list[Operation]:
        pairs = self.optimizer.compute_gradients(loss, **options.gradients)
        of_state = [self._constraint_grad_and_var(state, gradient)]
        if self.constraint_optimizer is None:
            return [self.optimizer.apply_gradients(pairs + of_state, name="update")]
        with control_dependencies([g for g, _ in pairs + of_state if g is not None]):
            return [
                self.optimizer.apply_gradients(pairs, name="update"),
                self.constraint_optimizer.apply_gradients(of_state, name="optimizer_state_update"),
            ]
