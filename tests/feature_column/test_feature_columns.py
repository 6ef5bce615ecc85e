"""Feature columns where values follow from a formula: checkpoints, vocabulary files, layers, configurations."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.feature_column import serialization
from tfcompat._src.feature_column.base import is_feature_column_v2
from tfcompat._src.feature_column.input_layer import InputLayer
from tfcompat._src.feature_column.linear_model import LinearModel, _LinearModelLayer
from tfcompat._src.feature_column.numeric import _numeric_column

fc = tf.feature_column


@pytest.fixture(autouse=True)
def graph():
    """A graph of the test's own."""
    with tf.Graph().as_default() as g:
        yield g


def evaluated(outputs):
    """The values once variables and tables are initialised."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(outputs)


@pytest.fixture
def saved_table(tmp_path):
    """The values of a table and the checkpoint that holds them."""
    values = np.arange(8, dtype=np.float32).reshape(4, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.Variable(values, name="table")
        session.run(table.initializer)
        return values, tf.train.Saver([table]).save(session, str(tmp_path / "model"))


def test_an_embedding_starts_from_a_checkpoint(saved_table):
    values, checkpoint = saved_table
    ids = fc.categorical_column_with_identity("ids", 4)
    column = fc.embedding_column(ids, 2, combiner="sum", ckpt_to_load_from=checkpoint, tensor_name_in_ckpt="table")
    found = evaluated(fc.input_layer({"ids": tf.constant([[3, 1], [0, -1]], tf.int64)}, column))
    np.testing.assert_array_equal(found, [values[3] + values[1], values[0]])


def test_columns_with_one_table_start_from_a_checkpoint(saved_table):
    values, checkpoint = saved_table
    ids = [fc.categorical_column_with_identity(name, 4) for name in "ab"]
    columns = fc.shared_embedding_columns(ids, 2, ckpt_to_load_from=checkpoint, tensor_name_in_ckpt="table")
    features = {"a": tf.constant([[3]], tf.int64), "b": tf.constant([[2]], tf.int64)}
    found = evaluated(fc.input_layer(features, columns))
    np.testing.assert_array_equal(found, [np.concatenate([values[3], values[2]])])
    assert len(tf.global_variables()) == 1


def test_a_vocabulary_file_gives_line_numbers(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("one\ntwo\nthree\n")
    column = fc.categorical_column_with_vocabulary_file("words", str(path), num_oov_buckets=1)
    assert (column.vocabulary_size, column.num_buckets) == (3, 4)
    found = evaluated(
        fc.input_layer({"words": tf.constant([["three", "other"], ["", "one"]])}, fc.indicator_column(column))
    )
    np.testing.assert_array_equal(found, [[0, 0, 1, 1], [1, 0, 0, 0]])


def test_only_the_first_lines_of_a_vocabulary_file_count(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("one\ntwo\nthree\n")
    column = fc.categorical_column_with_vocabulary_file("words", str(path), vocabulary_size=2, default_value=1)
    found = evaluated(fc.input_layer({"words": tf.constant([["three"], ["one"]])}, fc.indicator_column(column)))
    np.testing.assert_array_equal(found, [[0, 1], [1, 0]])


def test_a_linear_model_is_linear():
    numbers, ids = fc.numeric_column("x", shape=2), fc.categorical_column_with_identity("ids", 3)
    model = LinearModel([numbers, ids], units=2)
    x = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    outputs = model({"x": tf.constant(x), "ids": tf.constant([[2], [0]], tf.int64)})
    assert [v.op.name for v in model.variables] == [
        "linear_model/ids/weights", "linear_model/x/weights", "linear_model/bias_weights",
    ]  # fmt: skip
    rows, slope, bias = np.arange(6.0).reshape(3, 2), np.array([[1.0, -1.0], [0.5, 2.0]]), np.array([10.0, 20.0])
    with tf.Session() as session:
        for variable, value in zip(model.variables, (rows, slope, bias)):
            variable.load(value, session)
        np.testing.assert_allclose(session.run(outputs), x @ slope + rows[[2, 0]] + bias, rtol=1e-6)


def test_calls_of_an_input_layer_share_variables():
    layer = InputLayer([fc.embedding_column(fc.categorical_column_with_identity("ids", 3), 2)])
    one = layer({"ids": tf.constant([[2]], tf.int64)})
    two = layer({"ids": tf.constant([[2]], tf.int64)})
    assert len(layer.variables) == len(tf.global_variables()) == 1
    np.testing.assert_array_equal(*evaluated([one, two]))


def test_a_feature_of_unknown_rank_becomes_a_column():
    feature = tf.placeholder(tf.float32)
    outputs = fc.input_layer({"x": feature}, fc.numeric_column("x"))
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(outputs, {feature: [1.0, 2.0]}), [[1.0], [2.0]])
        np.testing.assert_array_equal(session.run(outputs, {feature: [[1.0], [2.0]]}), [[1.0], [2.0]])
        with pytest.raises(tf.errors.InvalidArgumentError, match="cannot have rank 0"):
            session.run(outputs, {feature: 1.0})


def test_a_sequential_model_trains_on_a_dict_of_features():
    columns = [fc.numeric_column("x"), fc.indicator_column(fc.categorical_column_with_identity("ids", 2))]
    dense = tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
    model = tf.keras.Sequential([tf.keras.layers.DenseFeatures(columns), dense])
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    x, ids = np.array([[1.0], [2.0], [3.0], [4.0]], np.float32) / 4, np.array([[0], [1], [0], [1]])
    inputs, wanted = np.concatenate([ids == 0, ids == 1, x], axis=1), x + ids
    losses = model.fit({"x": x, "ids": ids}, wanted, epochs=2, batch_size=4, verbose=0).history["loss"]
    step = 0.1 * 2 / 4 * inputs.T @ wanted
    np.testing.assert_allclose(losses, [np.mean(wanted**2), np.mean((inputs @ step - wanted) ** 2)], rtol=1e-5)


def every_kind_of_column():
    ids = fc.categorical_column_with_identity("ids", 3, default_value=1)
    words = fc.categorical_column_with_vocabulary_list("words", ["a", "b"], num_oov_buckets=2)
    number = fc.numeric_column("x", shape=(2,), default_value=(1.0, 2.0), normalizer_fn=halved)
    bucket = fc.bucketized_column(fc.numeric_column("y"), [1.0, 2.0])
    return [
        number, bucket, ids, words, fc.categorical_column_with_hash_bucket("h", 5, tf.int64),
        fc.weighted_categorical_column(words, "w"), fc.crossed_column([bucket, "k", words], 7, hash_key=2),
        fc.indicator_column(ids), fc.sequence_numeric_column("s", dtype=tf.float64),
        fc.sequence_categorical_column_with_identity("t", 4),
        fc.categorical_column_with_vocabulary_file("f", "words.txt", 3),
    ]  # fmt: skip


def halved(x):
    return x / 2


@pytest.mark.parametrize("column", every_kind_of_column(), ids=lambda c: type(c).__name__)
def test_a_column_comes_back_from_its_configuration(column):
    config = serialization.serialize_feature_column(column)
    assert config["class_name"] == type(column).__name__
    again = serialization.deserialize_feature_column(config, custom_objects={"halved": halved})
    assert again == column
    assert type(again) is type(column)
    assert is_feature_column_v2([again])


def test_equal_columns_of_configurations_become_one():
    ids = fc.categorical_column_with_identity("ids", 3)
    configs = serialization.serialize_feature_columns([ids, fc.indicator_column(ids)])
    one, around = serialization.deserialize_feature_columns(configs)
    assert around.categorical_column is one


@pytest.mark.parametrize(
    "config", [{"class_name": "Nothing", "config": {}}, {"class_name": "NumericColumn", "config": {"key": "x"}}]
)
def test_wrong_configurations_are_refused(config):
    with pytest.raises(ValueError, match="Unknown|Invalid config"):
        serialization.deserialize_feature_column(config)


@pytest.mark.parametrize("layer", [tf.keras.layers.DenseFeatures, _LinearModelLayer])
def test_a_layer_comes_back_from_its_configuration(layer):
    columns = [fc.numeric_column("x"), fc.embedding_column(fc.categorical_column_with_identity("ids", 3), 2)]
    made = layer(columns, name="features")
    again = layer.from_config(made.get_config())
    assert again.get_config() == made.get_config()
    assert [c.name for c in again._feature_columns] == ["ids_embedding", "x"]


def test_columns_of_the_earlier_interface_stay_apart():
    column = _numeric_column("x")
    assert not is_feature_column_v2([column])
    with pytest.raises(ValueError, match="must be a FeatureColumn"):
        tf.keras.layers.DenseFeatures([column])
    outputs = fc.input_layer({"x": tf.constant([[2.0]])}, [column])
    np.testing.assert_array_equal(evaluated(outputs), [[2.0]])
    assert not is_feature_column_v2([fc.bucketized_column(column, [1.0])])
