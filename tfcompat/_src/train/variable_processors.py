"""Variables, and tensors in place of variables, as optimizers see them: what gradients are taken of, and how an update is applied.

The names are those of 1.15's `tensorflow.python.training.optimizer`, which optimizers outside of TensorFlow call.
"""

from __future__ import annotations

import abc
from typing import Any

from tfcompat._src.graph.scopes import control_dependencies
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.nodes.indexed_slices import IndexedSlices
from tfcompat._src.variables.variable import Variable


class _OptimizableVariable(abc.ABC):
    """A variable, or a tensor, that an optimizer takes gradients of."""

    def __init__(self, v: Any) -> None:
        self._v = v

    @abc.abstractmethod
    def target(self) -> Any:
        """Returns the object that gradients are taken of."""

    @abc.abstractmethod
    def update_op(self, optimizer: Any, g: Any, *state: Any) -> Any:
        """Returns the operation by which `optimizer` applies a gradient; `state` is passed on to its methods.

        Raises:
          RuntimeError: the gradient is sparse, and the variable has a constraint. NotImplementedError: it is a tensor.
        """

    def _require_no_constraint(self) -> None:
        if self._v.constraint is not None:
            raise RuntimeError("Cannot use a constraint function on a sparse variable.")

    def _constrained(self, update: Any) -> Any:
        """Returns an update, followed by the constraint of the variable if it has one."""
        if self._v.constraint is None:
            return update
        with control_dependencies([update]):
            return self._v.assign(self._v.constraint(self._v))


class _RefVariableProcessor(_OptimizableVariable):
    """A variable that is a ref."""

    def __str__(self) -> str:
        return f"<_RefVariableProcessor({self._v})>"

    def target(self) -> Any:
        return self._v._ref()

    def update_op(self, optimizer: Any, g: Any, *state: Any) -> Any:
        if isinstance(g, IndexedSlices):
            self._require_no_constraint()
            return optimizer._apply_sparse_duplicate_indices(g, self._v, *state)
        return self._constrained(optimizer._apply_dense(g, self._v, *state))


class _DenseResourceVariableProcessor(_OptimizableVariable):
    """A variable that is a resource."""

    def target(self) -> Any:
        return self._v

    def update_op(self, optimizer: Any, g: Any, *state: Any) -> Any:
        if isinstance(g, IndexedSlices):
            self._require_no_constraint()
            return optimizer._resource_apply_sparse_duplicate_indices(g.values, self._v, g.indices, *state)
        return self._constrained(optimizer._resource_apply_dense(g, self._v, *state))


class _DenseReadResourceVariableProcessor(_OptimizableVariable):
    """The read of a variable that is a resource: the optimizer gets the handle that is read."""

    def target(self) -> Any:
        return self._v

    def update_op(self, optimizer: Any, g: Any, *state: Any) -> Any:
        return self._constrained(optimizer._resource_apply_dense(g, self._v.op.inputs[0], *state))


class _TensorProcessor(_OptimizableVariable):
    """A tensor, which has gradients and no updates."""

    def target(self) -> Any:
        return self._v

    def update_op(self, optimizer: Any, g: Any, *state: Any) -> Any:
        raise NotImplementedError("Trying to update a Tensor ", self._v)


def is_eager(var: object) -> bool:
    """Whether a variable has a value that no session holds."""
    return not getattr(var, "_in_graph_mode", True)


def is_resource(var: Any) -> bool:
    """Whether a variable is a resource, not a ref."""
    return is_eager(var) or var.op.type == "VarHandleOp"


def _get_processor(v: Any) -> _OptimizableVariable:
    """Returns the view of a variable or tensor that optimizers use; raises NotImplementedError for anything else."""
    if isinstance(v, Tensor):
        return _TensorProcessor(v)
    if not isinstance(v, Variable):
        raise NotImplementedError("Trying to optimize unsupported type ", v)
    return _DenseResourceVariableProcessor(v) if is_resource(v) else _RefVariableProcessor(v)
