"""`tensorflow.python.keras.distribute.keras_correctness_test_base`: a Keras model gives the same under a strategy and without one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from absl.testing import parameterized

import tfcompat as tf
from tfcompat._src.base import nest
from tfcompat._src.distribute.default_strategy import DefaultStrategy
from tfcompat._src.testing import strategy_combinations
from tfcompat._src.testing.distribute_combinations import combine, times

_RANDOM_SEED = 1337
_EVAL_STEPS = 20
_GLOBAL_BATCH_SIZE = 64

all_strategies = [
    strategy_combinations.default_strategy, strategy_combinations.one_device_strategy,
    strategy_combinations.mirrored_strategy_with_gpu_and_cpu, strategy_combinations.mirrored_strategy_with_two_gpus,
    strategy_combinations.tpu_strategy, strategy_combinations.tpu_strategy_one_step,
]  # fmt: skip


# ---- combinations ----


def _mode(mode: str) -> list:
    return combine(mode=mode, use_numpy=[True, False], use_validation_data=[True, False])


def eager_mode_test_configuration() -> list:
    """Where operations run at once, with arrays and datasets, with and without validation."""
    return _mode("eager")


def graph_mode_test_configuration() -> list:
    """In graphs, with arrays and datasets, with and without validation."""
    return _mode("graph")


def all_strategy_and_input_config_combinations() -> list:
    """All strategies in both modes."""
    strategies = combine(distribution=all_strategies, experimental_run_tf_function=[True, False])
    return times(strategies, eager_mode_test_configuration() + graph_mode_test_configuration())


def strategy_minus_tpu_and_input_config_combinations_eager() -> list:
    """All strategies but those of TPUs where operations run at once."""
    return times(combine(distribution=strategy_combinations.strategies_minus_tpu), eager_mode_test_configuration())


def strategies_for_embedding_models() -> list:
    """The strategies under which embeddings are trained: those of accelerators, and one device."""
    one = strategy_combinations.one_device_strategy
    return [each for each in all_strategies if each.required_tpu or each.required_gpus or each is one]


def test_combinations_for_embedding_model() -> list:
    """The strategies of embeddings in graphs, and those without TPUs where operations run at once."""
    strategies = strategies_for_embedding_models()
    without_tpus = [each for each in strategies if not each.required_tpu]
    in_graphs = combine(distribution=strategies, experimental_run_tf_function=[True, False])
    at_once = combine(distribution=without_tpus, experimental_run_tf_function=[False])
    return times(in_graphs, graph_mode_test_configuration()) + times(at_once, eager_mode_test_configuration())


def test_combinations_with_tpu_strategies() -> list:
    """The strategies of TPUs in graphs."""
    strategies = [strategy_combinations.tpu_strategy, strategy_combinations.tpu_strategy_one_step]
    return times(combine(distribution=strategies), graph_mode_test_configuration())


# ---- data ----


class MaybeDistributionScope:
    """The scope of a strategy, or nothing for None."""

    def __init__(self, distribution: Any) -> None:
        self._distribution = distribution
        self._scope: Any = None

    def __enter__(self) -> None:
        if self._distribution:
            self._scope = self._distribution.scope()
            self._scope.__enter__()

    def __exit__(self, *error: Any) -> None:
        if self._scope is not None:
            self._scope.__exit__(*error)
            self._scope = None


def batch_wrapper(dataset: Any, batch_size: int, repeat: int | None = None) -> Any:
    """A dataset in batches, after so many repetitions."""
    return (dataset.repeat(repeat) if repeat else dataset).batch(batch_size)


def get_batch_size(global_batch_size: int, distribution: Any) -> int:
    """The batch size that a program gives a strategy for batches of all replicas of `global_batch_size`."""
    if distribution and not distribution.extended._global_batch_size:
        return global_batch_size // distribution.num_replicas_in_sync
    return global_batch_size


def get_data_size(data: Any) -> int:
    """The number of samples of an array, or of the arrays of a list, tuple or dict."""
    if isinstance(data, np.ndarray):
        return len(data)
    return len(data[0]) if isinstance(data, (list, tuple)) else len(next(iter(data.values())))


def get_shapes(data: object) -> Any:
    """The shapes of a nest of arrays; None where a leaf has none."""
    return nest.map_structure(lambda x: x.shape, data) if all(hasattr(x, "shape") for x in nest.flatten(data)) else None


def get_correctness_test_inputs(
    use_numpy: bool, use_validation_data: bool, with_distribution: object, x_train: object, y_train: object, x_eval: object, y_eval: object, x_predict: object,
    training_epochs: int
) -> tuple[dict, dict | None, dict]:  # fmt: skip
    """The arguments of fit, evaluate (None where fit validates) and predict, for arrays or for datasets of them."""
    size = get_batch_size(_GLOBAL_BATCH_SIZE, with_distribution)
    if use_numpy:
        training = {"batch_size": size, "x": x_train, "y": y_train, "epochs": training_epochs, "shuffle": False}
        if use_validation_data:
            return {**training, "validation_data": (x_eval, y_eval)}, None, {"x": x_predict}
        return training, {"batch_size": size, "x": x_eval, "y": y_eval}, {"x": x_predict}
    slices = tf.data.Dataset.from_tensor_slices
    training = {
        "batch_size": None, "x": batch_wrapper(slices((x_train, y_train)), size, repeat=training_epochs), "y": None, "epochs": training_epochs,
        "shuffle": False, "steps_per_epoch": -(-get_data_size(x_train) // _GLOBAL_BATCH_SIZE),
    }  # fmt: skip
    evaluated = batch_wrapper(slices((x_eval, y_eval)), size)
    predicted = batch_wrapper(slices(x_predict), get_batch_size(get_data_size(x_predict), with_distribution))
    if use_validation_data:
        return {**training, "validation_data": evaluated, "validation_steps": 5}, None, {"steps": 1, "x": predicted}
    steps = -(-get_data_size(x_eval) // _GLOBAL_BATCH_SIZE)
    return training, {"batch_size": None, "x": evaluated, "y": None, "steps": steps}, {"steps": 1, "x": predicted}


# ---- runs ----


def fit_eval_and_predict(
    initial_weights: object, input_fn: Callable[[], tuple], model_fn: Callable[..., Any], experimental_run_tf_function: bool | None = None,
    distribution: object = None, is_stateful_model: bool = False
) -> dict[str, Any]:  # fmt: skip
    """What a model gives that is trained, tested, asked and trained again: histories, results, weights and predictions by name."""
    training, evaluation, prediction = input_fn()
    model = model_fn(
        experimental_run_tf_function=experimental_run_tf_function, initial_weights=initial_weights, distribution=distribution,
        input_shapes=get_shapes(training["x"]),
    )  # fmt: skip
    result: dict[str, Any] = {}

    def train_and_test(number: int) -> None:
        result[f"training_history_{number}"] = model.fit(**training).history
        if evaluation is not None:
            result[f"eval_result_{number}"] = model.evaluate(**evaluation)
        result[f"weights_{number}"] = model.get_weights()

    train_and_test(1)
    if prediction is not None:
        for i in range(3 if is_stateful_model else 1):
            result[f"predict_result_{i}"] = model.predict(**prediction)
    train_and_test(2)
    return result


def compare_results(results_with_ds: dict, results_without_ds: dict, distribution: object, testcase: Any, partial_last_batch: str | None = None) -> None:
    """Fails where a model gives other results under a strategy than without one; losses of batches that are not full are left out."""
    is_close = isinstance(distribution, (tf.distribute.MirroredStrategy, DefaultStrategy))
    for key, found in sorted(results_with_ds.items()):
        wanted = results_without_ds[key]
        tolerance = 1e-3 if partial_last_batch == "train_and_eval" else 1e-5
        if is_close and key.startswith(("weights_1", "weights_2", "predict_result")):
            tolerance = max(tolerance, 1e-4)
        if partial_last_batch is not None and key.startswith("eval_result"):
            found, wanted = found[1:], wanted[1:]
        if partial_last_batch is not None and key.startswith("training_history"):
            found, wanted = ({**each, "val_loss": 0} for each in (found, wanted))
        testcase.assertAllClose(found, wanted, atol=tolerance, rtol=tolerance, msg=f"Fail to assert {key}.")


def should_skip_tpu_with_eager(distribution: object) -> bool:
    """Whether a strategy is of TPUs and operations run at once."""
    return tf.executing_eagerly() and isinstance(distribution, tf.distribute.experimental.TPUStrategy)


class LearningRateBatchScheduler(tf.keras.callbacks.Callback):
    """Gives each batch, or each `update_freq`-th, another learning rate."""

    def __init__(self, update_freq: int | None = None) -> None:
        self._update_freq = update_freq

    def on_batch_begin(self, batch: int, logs: object = None) -> None:
        if not self._update_freq or batch % self._update_freq == 0:
            tf.keras.backend.set_value(self.model.optimizer.lr, 0.001 * (batch % 10))


class TestDistributionStrategyCorrectnessBase(tf.test.TestCase, parameterized.TestCase):
    """Trains the model of a subclass under a strategy and without one."""

    def set_up_test_config(self, use_numpy: bool = False, use_validation_data: bool = False, with_batch_norm: bool = False) -> None:
        """Notes the configuration, and seeds NumPy and the graph."""
        self.use_numpy, self.use_validation_data, self.with_batch_norm = use_numpy, use_validation_data, with_batch_norm
        tf.keras.backend.set_image_data_format("channels_last")
        np.random.seed(_RANDOM_SEED)
        tf.compat.v1.set_random_seed(_RANDOM_SEED)

    def get_data(self) -> tuple[Any, Any, Any]:
        """Inputs and labels for training, and inputs to predict: 10,000 samples of 0 or 1."""
        x = np.random.randint(0, 2, 10000).reshape(-1, 1).astype(np.float32)
        return x, x, None

    def get_data_with_partial_last_batch(self) -> tuple:
        """Data whose last batches are not full, in training and in evaluation."""
        raise NotImplementedError("A subclass gives data whose last batches are not full.")

    def get_data_with_partial_last_batch_eval(self) -> tuple:
        """Data whose last batch of evaluation is not full."""
        raise NotImplementedError("A subclass gives data whose last batch of evaluation is not full.")

    def get_input_for_correctness_test(self, **kwargs: Any) -> tuple:
        """As `get_correctness_test_inputs`."""
        return get_correctness_test_inputs(**kwargs)

    def get_model(self, distribution: Any = None, experimental_run_tf_function: bool | None = None, input_shapes: Any = None) -> Any:
        """The compiled model."""
        raise NotImplementedError("A subclass makes the model.")

    def _data(self, partial_last_batch: str | None) -> tuple:
        if partial_last_batch == "eval":
            return self.get_data_with_partial_last_batch_eval()
        if partial_last_batch == "train_and_eval":
            return self.get_data_with_partial_last_batch()
        x_train, y_train, x_predict = self.get_data()
        return x_train, y_train, x_train, y_train, x_predict

    def _results(self, input_fn: Callable[..., tuple], x_train: object, distribution: object, runs_function: bool | None, is_stateful: bool) -> tuple:
        """What the model gives under a strategy, and without one."""
        weights = self.get_model(experimental_run_tf_function=runs_function, input_shapes=get_shapes(x_train)).get_weights()
        return tuple(
            fit_eval_and_predict(weights, functools.partial(input_fn, each), self.get_model, runs_function, each, is_stateful)
            for each in (distribution, None)
        )

    def run_correctness_test(
        self, distribution: Any, use_numpy: bool, use_validation_data: bool, experimental_run_tf_function: bool | None = None,
        with_batch_norm: bool = False, is_stateful_model: bool = False, partial_last_batch: str | None = None, training_epochs: int = 2
    ) -> None:  # fmt: skip
        """Fails where the model gives other results under a strategy; with batch normalization over several replicas, where it does not."""
        with self.cached_session():
            self.set_up_test_config(use_numpy, use_validation_data, with_batch_norm)
            x_train, y_train, x_eval, y_eval, x_predict = self._data(partial_last_batch)

            def input_fn(strategy: object) -> tuple:
                return self.get_input_for_correctness_test(
                    use_numpy=use_numpy, use_validation_data=use_validation_data, with_distribution=strategy, x_train=x_train, y_train=y_train,
                    x_eval=x_eval, y_eval=y_eval, x_predict=x_predict, training_epochs=training_epochs,
                )  # fmt: skip

            found = self._results(input_fn, x_train, distribution, experimental_run_tf_function, is_stateful_model)
            compare = functools.partial(compare_results, *found, distribution, testcase=self, partial_last_batch=partial_last_batch)
            if self.with_batch_norm and distribution.num_replicas_in_sync > 1:
                with self.assertRaises(AssertionError):
                    compare()
            else:
                compare()

    def get_input_for_dynamic_lr_test(self, **kwargs: Any) -> tuple:
        """The arguments of fit, and None twice: nothing is evaluated or predicted."""
        return kwargs, None, None

    def run_dynamic_lr_test(self, distribution: object, experimental_run_tf_function: bool | None = None) -> None:
        """Fails where the model gives other results under a strategy when a callback changes the learning rate."""
        with self.cached_session():
            self.set_up_test_config()
            x_train, y_train, _ = self.get_data()

            def input_fn(strategy: object) -> tuple:
                return self.get_input_for_dynamic_lr_test(
                    x=x_train, y=y_train, batch_size=get_batch_size(_GLOBAL_BATCH_SIZE, strategy), shuffle=False, epochs=2,
                    callbacks=[LearningRateBatchScheduler()], validation_data=(x_train, y_train),
                )  # fmt: skip

            found = self._results(input_fn, x_train, distribution, experimental_run_tf_function, False)
            compare_results(*found, distribution, testcase=self)


class TestDistributionStrategyEmbeddingModelCorrectnessBase(TestDistributionStrategyCorrectnessBase):
    """Trains models of words."""

    def get_data(
        self, count: int = _GLOBAL_BATCH_SIZE * _EVAL_STEPS, min_words: int = 5, max_words: int = 10, max_word_id: int = 19, num_classes: int = 2
    ) -> tuple[Any, Any, Any]:
        """Sentences of word numbers, padded to `max_words`, and their classes, each with words of a frequency of its own."""
        frequencies = np.abs(np.random.randn(num_classes, max_word_id))
        frequencies /= frequencies.sum(axis=1, keepdims=True)
        labels = np.random.randint(0, num_classes, count)
        lengths = np.random.randint(min_words, max_words, count)
        sentences = [np.random.choice(max_word_id, n, p=frequencies[label]) for label, n in zip(labels, lengths)]
        x = np.asarray(tf.keras.preprocessing.sequence.pad_sequences(sentences, maxlen=max_words), np.float32)
        return x, labels.astype(np.int32).reshape(-1, 1), x[:_GLOBAL_BATCH_SIZE]
