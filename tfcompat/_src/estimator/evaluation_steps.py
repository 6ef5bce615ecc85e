"""How an Estimator evaluates a checkpoint."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.estimator import replicas, util
from tfcompat._src.estimator.evaluation_results import _write_checkpoint_path_to_summary, _write_dict_to_summary
from tfcompat._src.estimator.model_fn import LOSS_METRIC_KEY
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import get_default_graph
from tfcompat._src.metrics.mean import mean
from tfcompat._src.ops.control.groups import group
from tfcompat._src.ops.random.seeds import set_random_seed
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys
from tfcompat._src.train import evaluation
from tfcompat._src.train.checkpoint_management import latest_checkpoint
from tfcompat._src.train.scaffold import Scaffold
from tfcompat._src.train.session_run_hook import SessionRunHook
from tfcompat._src.train.warm_starting_util import warm_start
from tfcompat._src.variables import training_util


class EvaluationSteps:
    """The part of an Estimator that evaluates."""

    _config: Any
    _eval_distribution: Any
    _model_dir: str
    _session_config: Any
    _warm_start_settings: Any

    def _actual_eval(
        self, input_fn: object, strategy: Any = None, steps: int | None = None, hooks: object = None,
        checkpoint_path: str | None = None, name: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        hooks = [*_check_hooks_type(hooks), *self._convert_eval_steps_to_hooks(steps)]
        if not checkpoint_path:
            checkpoint_path = latest_checkpoint(self._model_dir)
            if not checkpoint_path:
                logging.info(
                    f"Could not find trained model in model_dir: {self._model_dir}, running initialization to evaluate."
                )

        def evaluated() -> dict[str, Any]:
            scaffold, update_op, eval_dict, all_hooks = self._evaluate_build_graph(input_fn, hooks, checkpoint_path)
            return self._evaluate_run(checkpoint_path, scaffold, update_op, eval_dict, all_hooks, self.eval_dir(name))

        with Graph().as_default():
            if not strategy:
                return evaluated()
            with strategy.scope():
                return evaluated()

    def _convert_eval_steps_to_hooks(self, steps: int | None) -> list[SessionRunHook]:
        if steps is None:
            return []
        if steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        return [evaluation._StopAfterNEvalsHook(num_evals=steps)]

    def _evaluate_build_graph(
        self, input_fn: Any, hooks: Any = None, checkpoint_path: str | None = None
    ) -> tuple[Scaffold, Any, dict[str, Any], list[SessionRunHook]]:
        """Builds the evaluation in the default graph: Scaffold, update operation, tensors of the results, all hooks."""
        set_random_seed(self._config.tf_random_seed)
        self._create_and_assert_global_step(get_default_graph())
        call = self._call_model_fn_eval_distributed if self._eval_distribution else self._call_model_fn_eval
        scaffold, evaluation_hooks, input_hooks, update_op, eval_dict = call(input_fn, self.config)
        step = training_util.get_global_step(get_default_graph())
        self._maybe_warm_start(checkpoint_path)
        if GraphKeys.GLOBAL_STEP in eval_dict:
            raise ValueError(
                "Metric with name `global_step` is not allowed, because Estimator already defines a default metric "
                "with the same name."
            )
        eval_dict[GraphKeys.GLOBAL_STEP] = step
        if scaffold and scaffold.local_init_op:
            evaluation._get_or_create_eval_step()
            local_init_op = group(scaffold.local_init_op, Scaffold.default_local_init_op())
            scaffold = Scaffold(local_init_op=local_init_op, copy_from_scaffold=scaffold)
        return scaffold, update_op, eval_dict, [*input_hooks, *(hooks or ()), *(evaluation_hooks or ())]

    def _call_model_fn_eval(self, input_fn: object, config: object) -> tuple:
        features, labels, input_hooks = self._get_features_and_labels_from_input_fn(input_fn, ModeKeys.EVAL)
        spec = self._call_model_fn(features, labels, ModeKeys.EVAL, config)
        metrics = _verify_and_create_loss_metric(spec.eval_metric_ops, spec.loss)
        return (spec.scaffold, spec.evaluation_hooks, input_hooks, *_extract_metric_update_ops(metrics))

    def _call_model_fn_eval_distributed(self, input_fn: object, config: object) -> tuple:
        strategy = self._eval_distribution
        iterator, input_hooks = self._get_iterator_from_input_fn(input_fn, ModeKeys.EVAL, strategy)
        features, labels = util.parse_iterator_result(iterator.get_next())
        arguments = (features, labels, ModeKeys.EVAL, config)
        grouped = strategy.extended.call_for_each_replica(self._call_model_fn, args=arguments)
        metrics = _verify_and_create_loss_metric(grouped.eval_metric_ops, grouped.loss, strategy)
        scaffold = replicas.combined_scaffold(grouped.scaffold, strategy)
        hooks = strategy.experimental_local_results(grouped.evaluation_hooks)[0]
        return (scaffold, hooks, input_hooks, *_extract_metric_update_ops(metrics, strategy))

    def _evaluate_run(
        self, checkpoint_path: str | None, scaffold: object, update_op: object, eval_dict: dict[str, Any], all_hooks: list,
        output_dir: str,
    ) -> dict[str, Any]:  # fmt: skip
        """Evaluates the default graph; gives the results, which are logged and written to `output_dir`."""
        results = evaluation._evaluate_once(
            checkpoint_path=checkpoint_path, master=self._config.evaluation_master, scaffold=scaffold,
            eval_ops=update_op, final_ops=eval_dict, hooks=all_hooks, config=self._session_config,
        )  # fmt: skip
        step = results[GraphKeys.GLOBAL_STEP]
        _write_dict_to_summary(output_dir, results, step)
        if checkpoint_path:
            _write_checkpoint_path_to_summary(output_dir, checkpoint_path, step)
        return results

    def _maybe_warm_start(self, checkpoint_path: str | None) -> None:
        """Takes first values from elsewhere, where no checkpoint is evaluated."""
        if not checkpoint_path and self._warm_start_settings:
            logging.info("Warm-starting with WarmStartSettings: %s", self._warm_start_settings)
            warm_start(*self._warm_start_settings)


def _check_hooks_type(hooks: Any) -> list[SessionRunHook]:
    hooks = list(hooks or ())
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"Hooks must be a SessionRunHook, given: {hook}")
    return hooks


def _verify_and_create_loss_metric(
    eval_metric_ops: dict[str, tuple], loss: object, distribution: Any = None
) -> dict[str, tuple]:
    """The metrics, with that of the loss."""
    if LOSS_METRIC_KEY in eval_metric_ops:
        raise ValueError(
            f'Metric with name "{LOSS_METRIC_KEY}" is not allowed, because Estimator already defines a default metric '
            "with the "
            "same name."
        )
    if distribution is None:
        eval_metric_ops[LOSS_METRIC_KEY] = mean(loss)
    else:
        eval_metric_ops[LOSS_METRIC_KEY] = distribution.extended.call_for_each_replica(mean, args=(loss,))
    return eval_metric_ops


def _extract_metric_update_ops(eval_dict: dict[str, tuple], distribution: Any = None) -> tuple[Any, dict[str, Any]]:
    """One operation that updates all metrics (None where there are none), and their values by name."""
    metrics = sorted(eval_dict.items())
    updates = [distribution.group(update) if distribution else update for _, (_, update) in metrics]
    return group(*updates) if updates else None, {name: value for name, (value, _) in metrics}
