"""Options of pipelines: their errors are those of TensorFlow 1.15.5, but for options that tfcompat refuses."""

import pytest

import tfcompat as tf


def begin(**settings):
    options = tf.data.Options()
    for name, value in settings.items():
        *path, last = name.split("__")
        holder = options
        for part in path:
            holder = getattr(holder, part)
        setattr(holder, last, value)
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.make_initializable_iterator(tf.data.Dataset.range(2).with_options(options))
        session.run(iterator.initializer)
        return session.run(iterator.get_next())


@pytest.mark.parametrize(
    ("name", "value", "error", "text"),
    [
        ("experimental_threading__private_threadpool_size", 0, tf.errors.InvalidArgumentError, "`num_threads` must be >= 1"),
        ("experimental_threading__private_threadpool_size", -1, tf.errors.InvalidArgumentError, "`num_threads` must be >= 1"),
        ("experimental_optimization__autotune_cpu_budget", -1, tf.errors.InvalidArgumentError, "CPU budget must be positive but is -1."),
        (
            "experimental_optimization__filter_with_random_uniform_fusion", True, tf.errors.InternalError,
            "Tried to register a dataset optimizer that doesn't exist: filter_with_random_uniform_fusion",
        ),
        ("experimental_optimization__hoist_random_uniform", True, NotImplementedError, "hoist_random_uniform = True .* is not supported"),
        ("experimental_stats__latency_all_edges", True, NotImplementedError, "latency_all_edges = True .* is not supported"),
        ("experimental_optimization__hoist_random_uniform", 1, TypeError, "must be of type"),
    ],
)  # fmt: skip
def test_raises(name, value, error, text):
    with pytest.raises(error, match=text):
        begin(**{name: value})


@pytest.mark.parametrize("name", ["experimental_optimization__hoist_random_uniform", "experimental_stats__latency_all_edges"])
def test_what_is_refused_may_be_off(name):
    assert begin(**{name: False}) == 0


@pytest.mark.parametrize(
    ("name", "error"), [("foo", tf.errors.InternalError), ("auto_shard", tf.errors.InternalError), ("latency_all_edges", tf.errors.UnimplementedError)]
)
def test_optimizers_of_graphs(name, error):
    """1.15.5 knows `latency_all_edges`, and no `auto_shard` by that name."""
    kinds = {"output_types": [tf.int64], "output_shapes": [[]]}
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = tf.raw_ops.OptimizeDataset(input_dataset=tf.data.Dataset.range(2)._variant_tensor, optimizations=[name], **kinds)
        iterator = tf.raw_ops.IteratorV2(shared_name="", container="", **kinds)
        with pytest.raises(error, match=name):
            session.run(tf.raw_ops.MakeIterator(dataset=dataset, iterator=iterator))
