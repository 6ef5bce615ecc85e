"""Graphs that make datasets again, and the functions of datasets, as TensorFlow 1.15.5 gives them."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.data.experimental import optimization
from tfcompat._src.eager.mode import eager_mode
from tfcompat._src.nodes import raw
from tfcompat._src.proto import messages

Dataset = tf.data.Dataset
RANGE = ["Const", "Const", "Const", "RangeDataset"]


def reducer():
    return tf.data.experimental.Reducer(lambda key: key, lambda state, x: state + x, lambda state: state)


PIPELINES = {
    "captured": (lambda: Dataset.range(3).map(lambda x: x + tf.constant([1, 2], tf.int64)), [*RANGE, "MapDataset"]),
    "outer": (lambda c: Dataset.range(3).map(lambda x: x + c), [*RANGE, "Const", "MapDataset"]),
    "nested": (lambda: Dataset.range(3).flat_map(Dataset.range), [*RANGE, "FlatMapDataset"]),
    "twice": (lambda: Dataset.zip((Dataset.range(3), Dataset.range(2))), [*RANGE, *RANGE, "ZipDataset"]),
    "slices": (lambda: Dataset.from_tensor_slices(([1, 2], ["a", "b"])), ["Const", "Const", "TensorSliceDataset"]),
    "steps": (
        lambda: Dataset.range(3).cache().prefetch(2).take(1).skip(0),
        [*RANGE, "Const", "CacheDataset", "Const", "PrefetchDataset", "Const", "TakeDataset", "Const", "SkipDataset"],
    ),
    "shuffled": (lambda: Dataset.range(3).shuffle(2, seed=3), [*RANGE, "Const", "Const", "Const", "ShuffleDataset"]),
}  # fmt: skip


def graph_of(dataset, **attrs):
    with tf.Session() as session:
        text = session.run(raw.DatasetToGraph(input_dataset=dataset._variant_tensor, **attrs))
    return messages.GraphDef.FromString(text)


@pytest.mark.parametrize("name", PIPELINES)
def test_nodes_in_order(name):
    make, wanted = PIPELINES[name]
    with tf.Graph().as_default():
        found = graph_of(make(tf.constant([1, 2], tf.int64)) if name == "outer" else make())
    assert [node.op for node in found.node] == [*wanted, "_Retval"]
    assert [node.name for node in found.node[:-1]] == [f"{node.op}/_{i}" for i, node in enumerate(found.node[:-1])]
    assert (found.node[-1].name, list(found.node[-1].input)) == ("dataset", [found.node[-2].name])
    assert (found.versions.producer, found.versions.min_consumer) == (134, 12)
    assert len(found.library.function) == (name in ("captured", "outer", "nested"))


STATES = {
    "RandomUniform": lambda: Dataset.range(3).map(lambda x: tf.random_uniform([])),
    "PyFunc": lambda: Dataset.range(3).map(lambda x: tf.py_func(lambda y: y, [x], tf.int64)),
    "DatasetToSingleElement": lambda: Dataset.range(3).map(
        lambda x: tf.data.experimental.get_single_element(Dataset.range(1))
    ),
    "ReduceDataset": lambda: Dataset.range(3).map(lambda x: Dataset.range(3).reduce(x, lambda a, b: a + b)),
}


@pytest.mark.parametrize("op_type", STATES)
def test_functions_with_state_are_refused(op_type):
    with tf.Graph().as_default(), pytest.raises(tf.errors.FailedPreconditionError, match=f"{op_type} is stateful."):
        graph_of(STATES[op_type]())


def test_state_is_let_through_by_name():
    with tf.Graph().as_default():
        found = graph_of(STATES["RandomUniform"](), stateful_whitelist=["RandomUniform"])
    assert [node.op for node in found.node] == [*RANGE, "MapDataset", "_Retval"]


def test_functions_that_make_datasets_again():
    with eager_mode():
        dataset = Dataset.range(5).map(lambda x: x * 2).batch(2)
        function = dataset._trace_variant_creation()
        assert function.inputs == [] and [t.name for t in function.outputs] == ["BatchDatasetV2/_7:0"]
        made = tf.compat.v2.data.Dataset(function(), dataset.element_spec)
        assert [element.numpy().tolist() for element in made] == [[0, 2], [4, 6], [8]]
    with (
        tf.Graph().as_default(),
        pytest.raises(NotImplementedError, match="Can only export Datasets which were created executing eagerly"),
    ):
        Dataset.range(2)._trace_variant_creation()


def test_functions_of_a_dataset():
    with tf.Graph().as_default():
        numbers, spec = Dataset.range(4), tf.TensorSpec([], tf.int64)
        assert numbers._functions() == [] and numbers.map(lambda x: x).batch(2)._functions() == []
        for made in (
            numbers.map(lambda x: x),
            numbers.map(lambda x: x, 2),
            numbers.apply(tf.data.experimental.map_and_batch(lambda x: x, 2)),
        ):
            assert [function.output_structure for function in made._functions()] == [spec]
        grouped = numbers.apply(tf.data.experimental.group_by_reducer(lambda x: x % 2, reducer()))
        assert [function.output_structure for function in grouped._functions()] == [spec] * 4


def test_a_model_has_the_elements():
    with tf.Graph().as_default(), tf.Session() as session:
        following = tf.data.make_one_shot_iterator(Dataset.range(3).apply(optimization.model())).get_next()
        np.testing.assert_array_equal([session.run(following) for _ in range(3)], range(3))
