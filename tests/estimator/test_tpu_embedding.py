"""Embeddings of a TPUEstimator: values and errors are those of TensorFlow 1.15.5, and training on the CPU is that without them."""

import pytest

import tfcompat as tf

parameters = tf.tpu.experimental
Spec = tf.estimator.tpu.experimental.EmbeddingConfigSpec
CATEGORY = tf.feature_column.categorical_column_with_identity("a", 10)
COLUMN = parameters.embedding_column(CATEGORY, 4, initializer=tf.ones_initializer())
SGD = parameters.StochasticGradientDescentParameters(0.1, clip_weight_min=-1)


def test_parameters():
    assert vars(SGD) == {"learning_rate": 0.1, "use_gradient_accumulation": False, "clip_weight_min": -1, "clip_weight_max": None}
    common = {"learning_rate": 0.1, "use_gradient_accumulation": True, "clip_weight_min": None, "clip_weight_max": None}
    assert vars(parameters.AdagradParameters(0.1)) == {**common, "initial_accumulator": 0.1}
    adam = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "lazy_adam": True, "sum_inside_sqrt": True}
    assert vars(parameters.AdamParameters(0.1)) == {**common, **adam}


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: parameters.AdagradParameters(0.1, initial_accumulator=0), "initial_accumulator must be positive"),
        (lambda: parameters.AdamParameters(0.1, beta1=1.0), "beta1 must be between"),
        (lambda: parameters.AdamParameters(0.1, beta2=-1), "beta2 must be between"),
        (lambda: parameters.AdamParameters(0.1, epsilon=0), "epsilon must be positive"),
        (lambda: parameters.AdamParameters(0.1, lazy_adam=False, use_gradient_accumulation=False), "When disabling Lazy Adam"),
        (lambda: Spec(), "Exactly one of"),
        (lambda: Spec([COLUMN], SGD, feature_to_config_dict={"a": 1}, table_to_config_dict={"t": 2}), "Exactly one of"),
        (lambda: Spec([COLUMN], None), "optimization_parameters must be an instance"),
        (lambda: Spec([COLUMN], SGD, partition_strategy="x"), "Invalid partition_strategy x"),
    ],
)
def test_bad_values(make, text):
    with pytest.raises(ValueError, match=text):
        make()


def test_bad_columns():
    with pytest.raises(TypeError, match="All feature columns must be supported types"):
        Spec([CATEGORY], SGD)
    with pytest.raises(TypeError, match="must be of type `FeatureConfig`"):
        Spec(feature_to_config_dict={"a": 1}, table_to_config_dict={"t": 2})


def trained(directory, **options):
    """The weights of the embedding after two steps."""

    def model_fn(features, labels, mode, params):
        predicted = tf.reduce_sum(tf.feature_column.input_layer(features, [COLUMN]), 1)
        loss = tf.losses.mean_squared_error(labels, predicted)
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_global_step())
        return tf.estimator.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=step)

    config = tf.estimator.tpu.RunConfig(model_dir=str(directory))
    estimator = tf.estimator.tpu.TPUEstimator(model_fn, config=config, train_batch_size=4, **options)
    estimator.train(lambda params: tf.data.Dataset.from_tensors(([[1], [2], [3], [4]], [1.0] * 4)).map(
        lambda a, y: ({"a": tf.cast(a, tf.int64)}, y)).repeat(), steps=2)  # fmt: skip
    return estimator.get_variable_value("input_layer/a_embedding/embedding_weights")


def test_training_on_the_cpu(tmp_path):
    spec = Spec([COLUMN, tf.feature_column.numeric_column("x")], SGD, clipping_limit=2.0)
    assert (spec.partition_strategy, spec.clipping_limit, spec.feature_to_config_dict) == ("div", 2.0, None)
    found = trained(tmp_path / "with", use_tpu=False, embedding_config_spec=spec)
    assert found.tolist() == trained(tmp_path / "without", use_tpu=False).tolist() and found[1, 0] < 1 == found[0, 0]
    with pytest.raises(NotImplementedError, match="embedding_config_spec"):
        trained(tmp_path / "tpu", use_tpu=True, embedding_config_spec=spec)
