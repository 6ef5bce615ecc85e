"""`tensorflow.python.distribute.saved_model_test_base`: models that are saved and loaded under strategies predict the same."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import numpy as np
from absl.testing import parameterized

import tfcompat as tf
from tfcompat._src.distribute.tpu_strategy import is_tpu_strategy
from tfcompat._src.saved_model import load
from tfcompat._src.testing import model_combinations, strategy_combinations
from tfcompat._src.testing.distribute_combinations import combine
from tfcompat._src.testing.test_case import TestCase

_RANDOM_SEED = 1337
_DEFAULT_FUNCTION_KEY = "serving_default"
_TOLERANCE = 1e-30
_TPU_TOLERANCE = 1e-7
PREDICT_STEPS = 1

simple_models = [model_combinations.simple_functional_model, model_combinations.simple_sequential_model]
strategies = [
    strategy_combinations.one_device_strategy, strategy_combinations.one_device_strategy_gpu,
    strategy_combinations.mirrored_strategy_with_one_cpu, strategy_combinations.mirrored_strategy_with_one_gpu,
    strategy_combinations.mirrored_strategy_with_gpu_and_cpu, strategy_combinations.mirrored_strategy_with_two_gpus,
    strategy_combinations.tpu_strategy,
]  # fmt: skip


# ---- combinations ----


def get_tolerance(save_distribution: object, restore_distribution: object) -> float:
    """How far predictions may be apart: more where one of the strategies is of TPUs."""
    return _TPU_TOLERANCE if is_tpu_strategy(save_distribution) or is_tpu_strategy(restore_distribution) else _TOLERANCE


def simple_models_with_strategies() -> list:
    """Keras models under each strategy."""
    return combine(model_and_input=simple_models, distribution=strategies, mode=["eager"], experimental_run_tf_function=[True, False])


def simple_models_with_strategy_pairs() -> list:
    """Keras models under each strategy when saved and each when loaded."""
    return combine(
        model_and_input=simple_models, distribution_for_saving=strategies, distribution_for_restoring=strategies, mode=["eager"],
        experimental_run_tf_function=[True, False],
    )  # fmt: skip


def tfmodule_models_with_strategies() -> list:
    """A tf.Module under each strategy."""
    module = [model_combinations.simple_tfmodule_model]
    return combine(model_and_input=module, distribution=strategies, mode=["eager"], experimental_run_tf_function=[True])


def tfmodule_models_with_strategy_pairs() -> list:
    """A tf.Module under each strategy when saved and each when loaded."""
    module = [model_combinations.simple_tfmodule_model]
    return combine(
        model_and_input=module, distribution_for_saving=strategies, distribution_for_restoring=strategies, mode=["eager"],
        experimental_run_tf_function=[True],
    )  # fmt: skip


# ---- the base ----


def load_and_run_with_saved_model_api(distribution: Any, saved_dir: str, predict_dataset: Any, output_name: str) -> Any:
    """What the default signature of a SavedModel gives for the first batch of a dataset, on each replica its part of it."""
    signature = load.load(saved_dir).signatures[_DEFAULT_FUNCTION_KEY]
    if not distribution:
        return signature(next(iter(predict_dataset)))[output_name]
    batch = next(iter(distribution.experimental_distribute_dataset(predict_dataset)))
    found = distribution.experimental_run_v2(signature, args=(batch,))[output_name]
    return tf.concat(distribution.experimental_local_results(found), 0)


class TestSavedModelBase(TestCase, parameterized.TestCase):
    """Saves a model and loads it under other strategies; a subclass defines `_save_model` and `_load_and_run_model`."""

    def setUp(self) -> None:  # noqa: N802
        np.random.seed(_RANDOM_SEED)
        tf.compat.v1.set_random_seed(_RANDOM_SEED)
        self._root_dir = "base"
        super().setUp()

    def _save_model(self, model: Any, saved_dir: str) -> None:
        raise NotImplementedError("A subclass saves the model.")

    def _load_and_run_model(
        self, distribution: Any, saved_dir: str, predict_dataset: Any, output_name: str, experimental_run_tf_function: bool
    ) -> Any:
        raise NotImplementedError("A subclass loads the model and runs it.")

    def _train_model(self, model: Any, x_train: Any, y_train: Any, batch_size: int) -> None:
        model.fit(x=self._batches((x_train, y_train), batch_size), epochs=1, steps_per_epoch=100)

    def _predict_with_model(self, distribution: object, model: Any, predict_dataset: Any) -> Any:
        return model.predict(predict_dataset, steps=PREDICT_STEPS)

    def _get_predict_dataset(self, x_predict: object, batch_size: int) -> Any:
        return self._batches(x_predict, batch_size)

    def _batches(self, arrays: object, batch_size: int) -> Any:
        return tf.data.Dataset.from_tensor_slices(arrays).repeat().batch(batch_size)

    def run_test_save_no_strategy_restore_strategy(self, model_and_input: object, distribution: object, experimental_run_tf_function: bool) -> None:
        """Fails where a model predicts otherwise once it is loaded under a strategy."""
        self._run("0", model_and_input, None, distribution, False, experimental_run_tf_function)

    def run_test_save_strategy_restore_no_strategy(
        self, model_and_input: object, distribution: object, save_in_scope: bool, experimental_run_tf_function: bool
    ) -> None:
        """Fails where a model that was made under a strategy predicts otherwise once it is loaded."""
        self._run("1", model_and_input, distribution, None, save_in_scope, experimental_run_tf_function)

    def run_test_save_strategy_restore_strategy(
        self, model_and_input: object, distribution_for_saving: object, distribution_for_restoring: object, save_in_scope: bool,
        experimental_run_tf_function: bool,
    ) -> None:  # fmt: skip
        """Fails where a model that was made under a strategy predicts otherwise once it is loaded under another."""
        pair = distribution_for_saving, distribution_for_restoring
        self._run("2", model_and_input, *pair, save_in_scope, experimental_run_tf_function)

    def _run(self, folder: str, model_and_input: Any, saving: object, restoring: object, save_in_scope: bool, runs_function: bool) -> None:
        saved_dir = os.path.join(self.get_temp_dir(), folder)
        with _scope(saving):
            model, output_name = model_and_input.get_model(experimental_run_tf_function=runs_function)
            x_train, y_train, x_predict = model_and_input.get_data()
            size = model_and_input.get_batch_size()
            self._train_model(model, x_train, y_train, size)
            dataset = self._get_predict_dataset(x_predict, size)
            before = self._predict_with_model(saving, model, dataset)
        with _scope(saving if save_in_scope else None):
            self._save_model(model, saved_dir)
        with _scope(restoring):
            after = self._load_and_run_model(
                distribution=restoring, saved_dir=saved_dir, predict_dataset=dataset, output_name=output_name,
                experimental_run_tf_function=runs_function,
            )  # fmt: skip
        self.assertAllClose(before, after, atol=get_tolerance(saving, restoring))


def _scope(distribution: Any) -> contextlib.AbstractContextManager[Any]:
    """The scope of a strategy; nothing for None."""
    return distribution.scope() if distribution else contextlib.nullcontext()
