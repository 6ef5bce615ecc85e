"""tf.contrib.factorization.WALSMatrixFactorization: a WALSModel as an Estimator of contrib.learn; hooks run its sweeps in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tfcompat._src.base import dtypes
from tfcompat._src.base.export import export
from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.contrib.factorization.wals_model import Update, WALSModel
from tfcompat._src.contrib.learn.estimator import Estimator
from tfcompat._src.contrib.learn.model_fn import ModeKeys, ModelFnOps
from tfcompat._src.graph.scopes import control_dependencies, get_default_graph
from tfcompat._src.nodes.sparse_tensor import SparseTensor
from tfcompat._src.ops.array.fill import fill, ones_like
from tfcompat._src.ops.control.cond import cond
from tfcompat._src.ops.control.groups import group, no_op
from tfcompat._src.ops.math.cast import cast
from tfcompat._src.ops.math.compare import logical_not
from tfcompat._src.ops.math.reduce import reduce_all
from tfcompat._src.ops.math.unary import sqrt
from tfcompat._src.platform import logging
from tfcompat._src.summary.summary import scalar
from tfcompat._src.train.session_run_hook import SessionRunArgs, SessionRunHook
from tfcompat._src.variables.assign import assign, assign_add, scatter_update
from tfcompat._src.variables.training_util import get_global_step
from tfcompat._src.variables.variable import Variable


def _state(initial: object, name: str) -> Any:
    return Variable(initial, trainable=False, name=name, collections=[GraphKeys.GLOBAL_VARIABLES])


class SweepHook(SessionRunHook):
    """Runs the step of the sweep under way; before a sweep what prepares it.

    Args:
      is_row_sweep_var: bool variable, whether rows are updated.
      is_sweep_done_var: bool variable, whether the last step ended a sweep.
      init_op: operation that runs once.
      row_prep_ops, col_prep_ops: operations before a sweep over rows, over columns.
      row_train_op, col_train_op: steps of such sweeps.
      switch_op: operation that goes over to the other kind of sweep.
    """

    def __init__(
        self, is_row_sweep_var: object, is_sweep_done_var: object, init_op: object, row_prep_ops: list[Any], col_prep_ops: list[Any],
        row_train_op: object, col_train_op: object, switch_op: object,
    ) -> None:  # fmt: skip
        self._is_row_sweep, self._is_sweep_done, self._init_op, self._switch_op = is_row_sweep_var, is_sweep_done_var, init_op, switch_op
        self._rows, self._columns = (row_prep_ops, row_train_op), (col_prep_ops, col_train_op)
        self._is_initialized = False

    def before_run(self, run_context: Any) -> SessionRunArgs:
        session = run_context.session
        is_done = session.run(self._is_sweep_done)
        if not self._is_initialized:
            session.run(self._init_op)
        if is_done:
            session.run(self._switch_op)
        of_rows = session.run(self._is_row_sweep)
        prepare, train = self._rows if of_rows else self._columns
        if is_done or not self._is_initialized:
            logging.info("A sweep over %s starts.", "rows" if of_rows else "columns")
            for operation in prepare:
                session.run(operation)
        self._is_initialized = True
        return SessionRunArgs([train])


class _GlobalStepHook(SessionRunHook):
    """Counts the steps."""

    def __init__(self) -> None:
        step = get_global_step()
        self._add = None if step is None else assign_add(step, 1, name="global_step_incr").op

    def before_run(self, run_context: Any) -> None:
        if self._add is not None:
            run_context.session.run(self._add)


class _StopAtSweepHook(SessionRunHook):
    """Stops training after so many sweeps."""

    def __init__(self, last_sweep: int) -> None:
        self._last_sweep = last_sweep

    def begin(self) -> None:
        name = f"{WALSMatrixFactorization.COMPLETED_SWEEPS}:0"
        try:
            self._completed = get_default_graph().get_tensor_by_name(name)
        except KeyError:
            raise RuntimeError(f"The graph has no tensor {name!r}, which counts the sweeps; the model function makes it.") from None

    def before_run(self, run_context: object) -> SessionRunArgs:
        return SessionRunArgs(self._completed)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        if run_values.results >= self._last_sweep:
            run_context.request_stop()


class _Training:
    """The variables of training, and the operations of its sweeps."""

    def __init__(self, model: WALSModel, rows: Any, columns: Any, params: dict[str, Any]) -> None:
        self.is_row_sweep, self.is_sweep_done = _state(True, "is_row_sweep"), _state(False, "is_sweep_done")
        self.completed = _state(0, WALSMatrixFactorization.COMPLETED_SWEEPS)
        self.loss, self.error = _state(0.0, WALSMatrixFactorization.LOSS), _state(0.0, WALSMatrixFactorization.RWSE)
        for name, value in (("loss", self.loss), ("root_weighted_squared_error", self.error), ("completed_sweeps", self.completed)):
            scalar(name, value)
        forget_rows, train_rows = self._sweep(rows, params["num_rows"], model.update_row_factors(rows, False), "rows")
        forget_columns, train_columns = self._sweep(columns, params["num_cols"], model.update_col_factors(columns, True), "cols")
        switch = group(assign(self.is_row_sweep, logical_not(self.is_row_sweep)), forget_rows, forget_columns, name="sweep_switch_op")
        self.hook = SweepHook(
            self.is_row_sweep, self.is_sweep_done, model.worker_init,
            [model.row_update_prep_gramian_op, model.initialize_row_update_op],
            [model.col_update_prep_gramian_op, model.initialize_col_update_op], train_rows, train_columns, switch,
        )  # fmt: skip

    def _sweep(self, batch: SparseTensor, count: int, update: Update, name: str) -> tuple[Any, Any]:
        """What forgets which items have been updated, and a step that updates those of a batch."""
        updated = _state(fill([count], False), f"processed_{name}")
        _, run, loss, regularization, weights = update
        losses = assign(self.loss, loss + regularization), assign(self.error, sqrt(loss / weights))
        items = batch.indices[:, 0]
        with control_dependencies([run, *losses]):
            mark = scatter_update(updated, items, ones_like(items, dtype=dtypes.bool), name=f"update_processed_{name}_indices")
        with control_dependencies([mark]):
            is_done = reduce_all(updated)
            done = assign(self.is_sweep_done, is_done)
            train = group(done, assign_add(self.completed, cast(is_done, dtypes.int32)), name=f"{name}_sweep_train_op")
        return updated.initializer, train


def _model_fn(features: dict[str, Any], labels: object, mode: str, params: dict[str, Any]) -> ModelFnOps:
    """The parts of the model; labels must be None."""
    if labels is not None:
        raise AssertionError("WALSMatrixFactorization takes no labels; the input function must give (features, None).")
    is_training = mode == ModeKeys.TRAIN
    model = WALSModel(
        params["num_rows"], params["num_cols"], params["embedding_dimension"], params["unobserved_weight"], params["regularization_coeff"],
        params["row_init"], params["col_init"], params["num_row_shards"], params["num_col_shards"], params["row_weights"], params["col_weights"],
        use_factors_weights_cache=params["use_factors_weights_cache_for_training"] and is_training,
        use_gramian_cache=params["use_gramian_cache_for_training"] and is_training,
    )  # fmt: skip
    rows, columns = features[WALSMatrixFactorization.INPUT_ROWS], features[WALSMatrixFactorization.INPUT_COLS]
    if is_training:
        training = _Training(model, rows, columns, params)
        hooks = [training.hook, _GlobalStepHook()]
        if params["max_sweeps"] is not None:
            hooks.append(_StopAtSweepHook(params["max_sweeps"]))
        return ModelFnOps(mode, {}, training.loss, no_op(), {}, training_hooks=hooks)
    of_rows = features[WALSMatrixFactorization.PROJECT_ROW]
    if mode == ModeKeys.INFER:
        weights = features.get(WALSMatrixFactorization.PROJECTION_WEIGHTS)
        projection = cond(
            of_rows, lambda: model.project_row_factors(rows, projection_weights=weights, transpose_input=False),
            lambda: model.project_col_factors(columns, projection_weights=weights, transpose_input=True),
        )  # fmt: skip
        return ModelFnOps(mode, {WALSMatrixFactorization.PROJECTION_RESULT: projection}, None, no_op(), {}, training_hooks=[])
    if mode != ModeKeys.EVAL:
        raise ValueError(f"The mode {mode!r} of the model function must be one of {ModeKeys.TRAIN}, {ModeKeys.EVAL} and {ModeKeys.INFER}.")

    def total(update: Update) -> Any:
        return update.unregularized_loss + update.regularization

    losses = cond(of_rows, lambda: total(model.update_row_factors(rows, False)), lambda: total(model.update_col_factors(columns, True)))
    return ModelFnOps(mode, {}, losses, no_op(), {}, training_hooks=[])


@export("contrib.factorization.WALSMatrixFactorization")
class WALSMatrixFactorization(Estimator):
    """A matrix as a product of two of few columns, by weighted alternating least squares (see `WALSModel`), in sweeps over rows and columns.

    The input function gives (features, None): features has INPUT_ROWS and INPUT_COLS, float32 SparseTensors of rows of the matrix and of
    its transpose; each row and column must come, or a sweep does not end. Evaluation and prediction take PROJECT_ROW too, a bool tensor that
    says whether rows or columns are meant; prediction takes PROJECTION_WEIGHTS, float32 weights of what is projected.

    Args:
      num_rows, num_cols: the shape of the matrix.
      embedding_dimension: the columns of the factors.
      max_sweeps: the sweeps after which training stops; None: it goes on.
      unobserved_weight, regularization_coeff, row_init, col_init, num_row_shards, num_col_shards, row_weights, col_weights: see `WALSModel`.
      use_factors_weights_cache_for_training, use_gramian_cache_for_training: whether copies are held during a sweep.
      model_dir: folder of the model.
      config: a RunConfig of one worker.

    Raises:
      ValueError: The RunConfig is of several workers.
    """

    INPUT_ROWS = "input_rows"
    INPUT_COLS = "input_cols"
    PROJECT_ROW = "project_row"
    PROJECTION_WEIGHTS = "projection_weights"
    PROJECTION_RESULT = "projection"
    COMPLETED_SWEEPS = "completed_sweeps"
    LOSS = "WALS_loss"
    RWSE = "WALS_RWSE"

    def __init__(
        self, num_rows: int, num_cols: int, embedding_dimension: int, unobserved_weight: float = 0.1, regularization_coeff: float | None = None,
        row_init: object = "random", col_init: object = "random", num_row_shards: int = 1, num_col_shards: int = 1, row_weights: object = 1,
        col_weights: object = 1, use_factors_weights_cache_for_training: bool = True, use_gramian_cache_for_training: bool = True,
        max_sweeps: int | None = None, model_dir: str | None = None, config: object = None,
    ) -> None:  # fmt: skip
        params = {
            "num_rows": num_rows, "num_cols": num_cols, "embedding_dimension": embedding_dimension, "unobserved_weight": unobserved_weight,
            "regularization_coeff": regularization_coeff, "row_init": row_init, "col_init": col_init, "num_row_shards": num_row_shards,
            "num_col_shards": num_col_shards, "row_weights": row_weights, "col_weights": col_weights, "max_sweeps": max_sweeps,
            "use_factors_weights_cache_for_training": use_factors_weights_cache_for_training,
            "use_gramian_cache_for_training": use_gramian_cache_for_training,
        }  # fmt: skip
        self._row_shards, self._col_shards = num_row_shards, num_col_shards
        super().__init__(model_fn=_model_fn, params=params, model_dir=model_dir, config=config)
        if self._config is not None and self._config.num_worker_replicas > 1:
            raise ValueError(f"WALSMatrixFactorization runs on one worker, but the RunConfig has {self._config.num_worker_replicas}.")

    def get_row_factors(self) -> list[np.ndarray]:
        """The factors of the rows, one array for each shard, after training."""
        return [self.get_variable_value(f"row_factors_shard_{number}") for number in range(self._row_shards)]

    def get_col_factors(self) -> list[np.ndarray]:
        """The factors of the columns, one array for each shard, after training."""
        return [self.get_variable_value(f"col_factors_shard_{number}") for number in range(self._col_shards)]

    def get_projections(self, input_fn: Callable[[], Any]) -> Iterator[np.ndarray]:
        """The factors of the rows or columns of an input function, one after the other, for the factors that are trained."""
        return (result[self.PROJECTION_RESULT] for result in self.predict(input_fn=input_fn))
