"""Optimizers outside the graph: the values of the variables are theirs to choose, loss and gradients come from runs."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tfcompat._src.base.export import export
from tfcompat._src.base.session_like import SessionLike
from tfcompat._src.gradients.gradients import gradients
from tfcompat._src.graph.tensor import Tensor
from tfcompat._src.ops.array.constant import placeholder
from tfcompat._src.ops.array.fill import zeros_like
from tfcompat._src.ops.array.join import concat
from tfcompat._src.ops.array.shape import reshape
from tfcompat._src.platform import logging
from tfcompat._src.runtime.session.session import get_default_session
from tfcompat._src.variables.collections import trainable_variables


def _sizes(var: Any) -> tuple[int, ...]:
    return tuple(var.shape.as_list())


def _packed(tensors: list[Tensor]) -> Tensor | None:
    """All elements in one vector."""
    if not tensors:
        return None
    flat = [reshape(t, [-1]) for t in tensors]
    return flat[0] if len(flat) == 1 else concat(flat, 0)


def _gradients(tensor: object, var_list: list[Any]) -> list[Tensor]:
    return [zeros_like(v) if g is None else g for v, g in zip(var_list, gradients(tensor, var_list))]


def _as_double(function: Callable[[np.ndarray], list]) -> Callable[[np.ndarray], np.ndarray]:
    """The first value of a function, in the type that SciPy's routines work with."""
    return lambda x: np.asarray(function(x)[0], np.float64)


@export("contrib.opt.ExternalOptimizerInterface")
class ExternalOptimizerInterface:
    """Base class of optimizers that work on one vector of all variables; a subclass defines `_minimize`.

    Args:
      loss: a scalar tensor.
      var_list: variables; by default all trainable ones.
      equalities: tensors that are to be 0.
      inequalities: tensors that are to be at least 0.
      var_to_bounds: dict from variables to (lower, upper), numbers or arrays that broadcast to the variable's shape.
      **optimizer_kwargs: handed to the optimizer.
    """

    def __init__(
        self, loss: Any, var_list: Any = None, equalities: Any = None, inequalities: Any = None,
        var_to_bounds: dict | None = None, **optimizer_kwargs: Any,
    ) -> None:  # fmt: skip
        self._loss, self._equalities, self._inequalities = loss, equalities or [], inequalities or []
        self._vars = trainable_variables() if var_list is None else list(var_list)
        self._packed_bounds = None if var_to_bounds is None else self._pack_bounds(var_to_bounds)
        self._update_placeholders = [placeholder(v.dtype) for v in self._vars]
        self._var_updates = [
            v.assign(reshape(value, _sizes(v))) for v, value in zip(self._vars, self._update_placeholders)
        ]
        loss_grads = _gradients(loss, self._vars)
        equality_grads = [_gradients(t, self._vars) for t in self._equalities]
        inequality_grads = [_gradients(t, self._vars) for t in self._inequalities]
        self.optimizer_kwargs = optimizer_kwargs
        self._packed_var = _packed(self._vars)
        self._packed_loss_grad = _packed(loss_grads)
        self._packed_equality_grads = [_packed(g) for g in equality_grads]
        self._packed_inequality_grads = [_packed(g) for g in inequality_grads]
        ends = list(itertools.accumulate((int(np.prod(_sizes(v))) for v in self._vars), initial=0))
        self._packing_slices = [slice(start, end) for start, end in itertools.pairwise(ends)]

    def _pack_bounds(self, var_to_bounds: dict) -> list[tuple[Any, Any]]:
        packed: list[tuple[Any, Any]] = []
        for v in self._vars:
            bounds = var_to_bounds.get(v, (-np.inf, np.inf))
            packed.extend(zip(*(np.broadcast_to(bound, _sizes(v)).flat for bound in bounds)))
        return packed

    def minimize(
        self, session: SessionLike | None = None, feed_dict: dict | None = None, fetches: list | None = None,
        step_callback: Callable | None = None, loss_callback: Callable | None = None, **run_kwargs: Any,
    ) -> None:  # fmt: skip
        """Minimizes, and sets the variables to what is found.

        Args:
          session: by default the current one.
          feed_dict: what is fed to the runs.
          fetches: what each run fetches in addition, for `loss_callback`.
          step_callback: called after each step with the vector of all variables.
          loss_callback: called with the values of `fetches` whenever the loss is computed.
          **run_kwargs: arguments of the last run, which sets the variables.
        """
        session = session or get_default_session()
        feed_dict, fetches = feed_dict or {}, fetches or []

        def values_of(tensor: object, callback: Callable | None = None) -> Callable:
            return self._make_eval_func(tensor, session, feed_dict, fetches, callback)

        found = self._minimize(
            initial_val=session.run(self._packed_var),
            loss_grad_func=values_of([self._loss, self._packed_loss_grad], loss_callback or (lambda *fetches: None)),
            equality_funcs=[values_of(t) for t in self._equalities],
            equality_grad_funcs=[values_of(t) for t in self._packed_equality_grads],
            inequality_funcs=[values_of(t) for t in self._inequalities],
            inequality_grad_funcs=[values_of(t) for t in self._packed_inequality_grads],
            packed_bounds=self._packed_bounds,
            step_callback=step_callback or (lambda xk: None),
            optimizer_kwargs=self.optimizer_kwargs,
        )
        values = [found[part] for part in self._packing_slices]
        session.run(self._var_updates, feed_dict=dict(zip(self._update_placeholders, values)), **run_kwargs)

    def _minimize(
        self, initial_val: np.ndarray, loss_grad_func: Callable, equality_funcs: list, equality_grad_funcs: list,
        inequality_funcs: list, inequality_grad_funcs: list, packed_bounds: list | None, step_callback: Callable,
        optimizer_kwargs: dict,
    ) -> np.ndarray:  # fmt: skip
        """The vector that is best.

        Args:
          initial_val: the vector to start from.
          loss_grad_func: function of a vector that gives loss and gradient.
          equality_funcs, inequality_funcs: functions of a vector; equality_grad_funcs, inequality_grad_funcs: their
            gradients.
          packed_bounds: (lower, upper) of each element, or None.
          step_callback: to be called with the vector after each step.
          optimizer_kwargs: settings.
        """
        raise NotImplementedError(
            "To use ExternalOptimizerInterface, subclass from it and implement the _minimize() method."
        )

    def _make_eval_func(
        self, tensors: object, session: SessionLike, feed_dict: dict, fetches: list, callback: Callable | None = None
    ) -> Callable[[np.ndarray], list]:
        tensors = tensors if isinstance(tensors, list) else [tensors]

        def eval_func(x: np.ndarray) -> list:
            feed = {v: x[part].reshape(_sizes(v)) for v, part in zip(self._vars, self._packing_slices)}
            found = session.run(tensors + fetches, feed_dict={**feed, **feed_dict})
            if callable(callback):
                callback(*found[len(tensors) :])
            return found[: len(tensors)]

        return eval_func


@export("contrib.opt.ScipyOptimizerInterface")
class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Minimizes by `scipy.optimize.minimize`; its `method` and `options` are keyword arguments of the constructor."""

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(
        self, initial_val: np.ndarray, loss_grad_func: Callable, equality_funcs: list, equality_grad_funcs: list,
        inequality_funcs: list, inequality_grad_funcs: list, packed_bounds: list | None, step_callback: Callable,
        optimizer_kwargs: dict,
    ) -> np.ndarray:  # fmt: skip
        def loss_and_gradient(x: np.ndarray) -> tuple[Any, np.ndarray]:
            loss, gradient = loss_grad_func(x)
            return np.float64(loss), gradient.astype("float64")

        constraints = [
            {"type": kind, "fun": _as_double(function), "jac": _as_double(jacobian)}
            for kind, functions, jacobians in (
                ("eq", equality_funcs, equality_grad_funcs),
                ("ineq", inequality_funcs, inequality_grad_funcs),
            )
            for function, jacobian in zip(functions, jacobians)
        ]
        options = dict(optimizer_kwargs)
        settings = {
            "method": options.pop("method", self._DEFAULT_METHOD),
            "jac": True,
            "callback": step_callback,
            "constraints": constraints,
            "bounds": packed_bounds,
        }
        for key in settings:
            if key == "bounds" and key in options:
                raise ValueError("Bounds must be set using the var_to_bounds argument")
            if key in options:
                raise ValueError(f"Optimizer keyword arg '{key}' is set automatically and cannot be injected manually")
        if settings["method"] == "TNC" and "maxiter" in options.get("options", {}):  # so it was called until SciPy 1.13
            limits = dict(options["options"])
            options["options"] = {"maxfun": limits.pop("maxiter"), **limits}
        optimize = importlib.import_module("scipy.optimize")
        result = optimize.minimize(loss_and_gradient, initial_val.astype("float64"), **settings, **options)
        lines = ["Optimization terminated with:", f"  Message: {result.message}"]
        lines.append(f"  Objective function value: {result.fun:f}")
        if hasattr(result, "nit"):
            lines.append(f"  Number of iterations: {result.nit}")
        if hasattr(result, "nfev"):
            lines.append(f"  Number of functions evaluations: {result.nfev}")
        logging.info("%s", "\n".join(lines))
        return result["x"]
