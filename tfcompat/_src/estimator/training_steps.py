"""How an Estimator trains: from the input function to the loop over steps."""

from __future__ import annotations

from typing import Any

from tfcompat._src.base.graph_collections import GraphKeys
from tfcompat._src.distribute.default_strategy import get_loss_reduction
from tfcompat._src.distribute.reduce_util import ReduceOp
from tfcompat._src.estimator import replicas, util
from tfcompat._src.estimator.model_fn import EstimatorSpec
from tfcompat._src.estimator.run_config import TaskType
from tfcompat._src.graph.graph import Graph
from tfcompat._src.graph.scopes import add_to_collection, get_collection, get_default_graph
from tfcompat._src.ops.random.seeds import set_random_seed
from tfcompat._src.platform import logging
from tfcompat._src.saved_model.model_utils.mode_keys import EstimatorModeKeys as ModeKeys
from tfcompat._src.summary import summary
from tfcompat._src.train.basic_session_run_hooks import LoggingTensorHook, NanTensorHook
from tfcompat._src.train.monitored_session import USE_DEFAULT, MonitoredTrainingSession
from tfcompat._src.train.saver import Saver
from tfcompat._src.train.saving_hooks import CheckpointSaverHook, StepCounterHook, SummarySaverHook
from tfcompat._src.train.session_run_hook import SessionRunHook
from tfcompat._src.train.warm_starting_util import warm_start
from tfcompat._src.variables import training_util


class TrainingSteps:
    """The part of an Estimator that trains."""

    _config: Any
    _device_fn: Any
    _model_dir: str
    _session_config: Any
    _train_distribution: Any
    _warm_start_settings: Any

    def _train_model(self, input_fn: object, hooks: list, saving_listeners: list) -> Any:
        if self._train_distribution:
            return self._train_model_distributed(input_fn, hooks, saving_listeners)
        return self._train_model_default(input_fn, hooks, saving_listeners)

    def _train_model_default(self, input_fn: object, hooks: list, saving_listeners: list) -> Any:
        """Trains in a new graph; gives the last loss."""
        with Graph().as_default() as graph, graph.device(self._device_fn):
            set_random_seed(self._config.tf_random_seed)
            if self._create_and_assert_global_step(graph) is not None:
                training_util._get_or_create_global_step_read(graph)
            features, labels, input_hooks = self._get_features_and_labels_from_input_fn(input_fn, ModeKeys.TRAIN)
            spec = self._call_model_fn(features, labels, ModeKeys.TRAIN, self.config)
            step = training_util.get_global_step(graph)
            return self._train_with_estimator_spec(spec, list(input_hooks), hooks, step, saving_listeners)

    def _train_model_distributed(self, input_fn: object, hooks: list, saving_listeners: list) -> Any:
        if getattr(self._config, "_distribute_coordinator_mode", None) is not None:
            raise ValueError("A strategy that trains on the tasks of a cluster needs tf.estimator.train_and_evaluate, in place of `train`.")
        self._config._train_distribute.configure(self._config.session_config)
        return self._actual_train_model_distributed(self._config._train_distribute, input_fn, hooks, saving_listeners)

    def _actual_train_model_distributed(self, strategy: Any, input_fn: object, hooks: list, saving_listeners: list) -> Any:
        """Trains in a new graph with a copy of the model on each device of a strategy."""
        with Graph().as_default() as graph, strategy.scope(), strategy._scale_loss_for_estimator_enabled():
            set_random_seed(self._config.tf_random_seed)
            iterator, input_hooks = self._get_iterator_from_input_fn(input_fn, ModeKeys.TRAIN, strategy)
            step = self._create_and_assert_global_step(graph)
            add_to_collection(training_util.GLOBAL_STEP_READ_KEY, strategy.extended.read_var(step))
            features, labels = util.parse_iterator_result(iterator.get_next())
            arguments = (features, labels, ModeKeys.TRAIN, self.config)
            grouped = strategy.extended.call_for_each_replica(self._call_model_fn, args=arguments)
            loss = strategy.reduce(_get_loss_reduce_op_for_reporting(), grouped.loss, axis=None)

            def of_first_replica(grouped_hooks: Any) -> list[SessionRunHook]:
                return [strategy.experimental_local_results(hook)[0] for hook in grouped_hooks]

            spec = EstimatorSpec(
                mode=grouped.mode, loss=loss, train_op=strategy.group(grouped.train_op),
                scaffold=replicas.combined_scaffold(grouped.scaffold, strategy),
                training_hooks=of_first_replica(grouped.training_hooks),
                training_chief_hooks=of_first_replica(grouped.training_chief_hooks),
            )  # fmt: skip
            return self._train_with_estimator_spec(spec, list(input_hooks), hooks, step, saving_listeners)

    def _train_with_estimator_spec(
        self,
        estimator_spec: EstimatorSpec,
        worker_hooks: list,
        hooks: list,
        global_step_tensor: object,
        saving_listeners: list,
    ) -> Any:
        """Trains the model of the default graph; gives the last loss.

        Args:
          estimator_spec: the model.
          worker_hooks: hooks of the input. hooks: hooks of the caller.
          global_step_tensor: the global step. saving_listeners: CheckpointSaverListeners.
        """
        if self._warm_start_settings:
            logging.info("Warm-starting with WarmStartSettings: %s", self._warm_start_settings)
            warm_start(*self._warm_start_settings)
        loss = estimator_spec.loss
        if not any(tensor.op.name == "loss" for tensor in get_collection(GraphKeys.SUMMARIES)):
            summary.scalar("loss", loss)
        add_to_collection(GraphKeys.LOSSES, loss)
        worker_hooks.extend(hooks)
        worker_hooks.append(NanTensorHook(loss))
        if self._config.log_step_count_steps is not None:
            logged = {"loss": loss, "step": global_step_tensor}
            worker_hooks.append(LoggingTensorHook(logged, every_n_iter=self._config.log_step_count_steps))
        worker_hooks.extend(estimator_spec.training_hooks)
        self._add_saver(estimator_spec.scaffold)
        if self._config.cluster_spec and self._train_distribution and self._train_distribution._in_multi_worker_mode():
            if saving_listeners:
                raise ValueError("CheckpointSaverListeners are not called where a strategy trains on the tasks of a cluster.")
            return self._run_training(estimator_spec, worker_hooks, (), self._config.save_checkpoints_secs, self._config.save_checkpoints_steps)
        saver_hooks = self._saver_hooks(estimator_spec, worker_hooks, saving_listeners)
        return self._run_training(estimator_spec, worker_hooks, saver_hooks)

    def _add_saver(self, scaffold: Any) -> None:
        if not (scaffold.saver or get_collection(GraphKeys.SAVERS)):
            saver = Saver(
                sharded=True, max_to_keep=self._config.keep_checkpoint_max,
                keep_checkpoint_every_n_hours=self._config.keep_checkpoint_every_n_hours, defer_build=True,
                save_relative_paths=True,
            )  # fmt: skip
            add_to_collection(GraphKeys.SAVERS, saver)

    def _saver_hooks(
        self, estimator_spec: EstimatorSpec, worker_hooks: list, saving_listeners: list
    ) -> list[CheckpointSaverHook]:
        """The hook that saves checkpoints, where none is among the others; the first of all gets the listeners."""
        config, made = self._config, []
        given = [*worker_hooks, *estimator_spec.training_chief_hooks]
        saver_hooks = [hook for hook in given if isinstance(hook, CheckpointSaverHook)]
        if (config.save_checkpoints_secs or config.save_checkpoints_steps) and not saver_hooks:
            saver_hooks = made = [
                CheckpointSaverHook(
                    self._model_dir, save_secs=config.save_checkpoints_secs, save_steps=config.save_checkpoints_steps,
                    scaffold=estimator_spec.scaffold,
                )
            ]  # fmt: skip
        if saving_listeners and not saver_hooks:
            raise ValueError(
                "There should be a CheckpointSaverHook to use saving_listeners. Please set one of the "
                "RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs."
            )
        for listener in saving_listeners:
            if listener not in saver_hooks[0]._listeners:
                saver_hooks[0]._listeners.append(listener)
        return made

    def _run_training(
        self, estimator_spec: EstimatorSpec, worker_hooks: list, saver_hooks: Any, save_secs: Any = 0, save_steps: object = USE_DEFAULT
    ) -> Any:
        """Runs steps until it is to stop; gives the last loss. `save_secs`, `save_steps`: between checkpoints that no hook saves."""
        config = self._config
        summary_steps, log_steps = config.save_summary_steps, config.log_step_count_steps
        jobs = config.cluster_spec.jobs if config.cluster_spec else ()
        if TaskType.WORKER in jobs and TaskType.MASTER in jobs:
            worker_hooks.extend(self._hooks_of_first_worker(estimator_spec.scaffold))
            summary_steps, log_steps = 0, None
        session = MonitoredTrainingSession(
            master=config.master, is_chief=config.is_chief, checkpoint_dir=self._model_dir,
            scaffold=estimator_spec.scaffold, hooks=worker_hooks,
            chief_only_hooks=(*saver_hooks, *estimator_spec.training_chief_hooks), save_checkpoint_secs=save_secs,
            save_checkpoint_steps=save_steps, save_summaries_steps=summary_steps, config=self._session_config,
            max_wait_secs=config.session_creation_timeout_secs, log_step_count_steps=log_steps,
        )  # fmt: skip
        loss, is_any_step_done = None, False
        with session:
            while not session.should_stop():
                _, loss = session.run([estimator_spec.train_op, estimator_spec.loss])
                is_any_step_done = True
        if not is_any_step_done:
            logging.warning("Training with estimator made no steps. Perhaps input is empty or misspecified.")
        return loss

    def _hooks_of_first_worker(self, scaffold: object) -> list[SessionRunHook]:
        """Hooks that write summaries and the speed, where a master only evaluates."""
        config, made = self._config, []
        if (config.task_type, config.task_id) != (TaskType.WORKER, 0):
            return []
        if config.save_summary_steps:
            made.append(SummarySaverHook(config.save_summary_steps, output_dir=config.model_dir, scaffold=scaffold))
        if config.log_step_count_steps:
            made.append(StepCounterHook(config.log_step_count_steps, output_dir=config.model_dir))
        return made


def _get_loss_reduce_op_for_reporting() -> ReduceOp:
    """How the losses of replicas become the one that is shown."""
    return get_loss_reduction() if getattr(get_default_graph(), "_is_loss_scaled_by_optimizer", False) else ReduceOp.SUM
