"""Op types of datasets that no public function makes: what graphs from files hold. Values are those of TensorFlow 1.15.5."""

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.data.experimental import optimization
from tfcompat._src.data.map_defun import map_defun

raw, Dataset = tf.raw_ops, tf.data.Dataset
NUMBERS = {"output_types": [tf.int64], "output_shapes": [[]]}
ROWS = {"output_types": [tf.int64], "output_shapes": [[None]]}


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def run(fetches, feeds=None):
    with tf.Session() as session:
        return session.run(fetches, feeds)


def elements(dataset, most=40):
    element = tf.data.make_one_shot_iterator(dataset).get_next()
    found = []
    with tf.Session() as session:
        while len(found) < most:
            try:
                found.append(session.run(element).tolist())
            except tf.errors.OutOfRangeError:
                return found
    return found


def twice(variant):
    """All elements of a dataset, from two iterations in one run."""
    found = []
    for _ in range(2):
        with tf.control_dependencies(found[-1:]):
            batch = raw.BatchDatasetV2(input_dataset=variant, batch_size=100, drop_remainder=False, **ROWS)
            found.append(raw.DatasetToSingleElement(dataset=batch, **ROWS)[0])
    return found


def test_anonymous_iterator():
    handle, deleter = raw.AnonymousIteratorV2(**NUMBERS)
    with tf.control_dependencies([raw.MakeIterator(dataset=Dataset.range(3)._variant_tensor, iterator=handle)]):
        element = raw.IteratorGetNext(iterator=handle, **NUMBERS)
    with tf.control_dependencies(element):
        done = raw.DeleteIterator(handle=handle, deleter=deleter)
    assert run([element, done]) == [[0], None]
    assert handle.shape == deleter.shape == []


def test_memory_cache_serves_all_iterations():
    handle, deleter = raw.AnonymousMemoryCache()
    noisy = Dataset.range(3).map(lambda x: x + tf.cast(tf.random.uniform([], 0, 10**6, tf.int32), tf.int64))
    found = twice(raw.CacheDatasetV2(input_dataset=noisy._variant_tensor, filename="", cache=handle, **NUMBERS))
    with tf.control_dependencies(found):
        done = raw.DeleteMemoryCache(handle=handle, deleter=deleter)
    first, second, _ = run([*found, done])
    np.testing.assert_array_equal(first, second)


SHUFFLED = {
    (1, 2): ([0, 2, 1, 3, 5, 4, 6, 7, 3, 0, 2, 1, 4, 6, 5, 7], [0, 3, 2, 6, 5, 7, 4, 1, 0, 3, 4, 1, 6, 7, 5, 2]),
    (5, 0): ([2, 0, 5, 4, 7, 1, 3, 6, 0, 3, 2, 4, 6, 5, 1, 7], [3, 4, 1, 6, 5, 2, 7, 0, 1, 2, 5, 4, 3, 7, 0, 6]),
}


@pytest.mark.parametrize("seeds", SHUFFLED)
def test_seed_generator_goes_on_over_iterations(seeds):
    handle, deleter = raw.AnonymousRandomSeedGenerator(seed=seeds[0], seed2=seeds[1])
    shuffled = raw.ShuffleDatasetV2(input_dataset=Dataset.range(8)._variant_tensor, buffer_size=4, seed_generator=handle, **NUMBERS)
    found = twice(raw.RepeatDataset(input_dataset=shuffled, count=2, **NUMBERS))
    with tf.control_dependencies(found):
        done = raw.DeleteRandomSeedGenerator(handle=handle, deleter=deleter)
    assert [x.tolist() for x in run([*found, done])[:2]] == list(SHUFFLED[seeds])


def test_anonymous_multi_device_iterator():
    handle, deleter = raw.AnonymousMultiDeviceIterator(devices=["/cpu:0", "/cpu:0"], **NUMBERS)
    begun = raw.MultiDeviceIteratorInit(dataset=Dataset.range(4)._variant_tensor, multi_device_iterator=handle, max_buffer_size=1)
    shards = [
        raw.MultiDeviceIteratorGetNextFromShard(multi_device_iterator=handle, shard_num=i, incarnation_id=begun, **NUMBERS)[0] for i in (1, 0)
    ]
    with tf.control_dependencies(shards):
        done = raw.DeleteMultiDeviceIterator(multi_device_iterator=handle, iterators=[], deleter=deleter)
    assert run([*shards, done])[:2] == [1, 0]


def test_statistics_go_to_a_summary_writer(tmp_path):
    aggregator = raw.StatsAggregatorHandleV2()
    weighed = Dataset.range(3).apply(tf.data.experimental.bytes_produced_stats("b"))
    model = raw.ModelDataset(input_dataset=weighed._variant_tensor, **NUMBERS)
    watched = raw.SetStatsAggregatorDataset(input_dataset=model, stats_aggregator=aggregator, tag="t", counter_prefix="c", **NUMBERS)
    iterator = raw.Iterator(shared_name="", container="", **NUMBERS)
    begin, element = raw.MakeIterator(dataset=watched, iterator=iterator), raw.IteratorGetNext(iterator=iterator, **NUMBERS)
    writer = raw.SummaryWriter()
    created = raw.CreateSummaryFileWriter(writer=writer, logdir=str(tmp_path), max_queue=1, flush_millis=1, filename_suffix=".x")
    with tf.Session() as session:
        session.run(created)
        session.run(raw.StatsAggregatorSetSummaryWriter(stats_aggregator=aggregator, summary=writer))
        session.run(begin)
        for _ in range(3):
            session.run(element)
        assert session.run(raw.StatsAggregatorSummary(iterator=aggregator)) == b""
        session.run(raw.FlushSummaryWriter(writer=writer))
    (path,) = tmp_path.iterdir()
    events = [(e.step, v.tag, v.histo.num, v.histo.max) for e in tf.train.summary_iterator(str(path)) for v in e.summary.value]
    assert events == [(0, "t::b", 1, 8), (1, "t::b", 2, 8), (2, "t::b", 3, 8)]


# ---- the fastest of several ----


def fastest(first, second):
    return optimization._ChooseFastestDataset([first, second], 3)


def test_fastest_dataset():
    assert elements(fastest(Dataset.range(20), Dataset.range(20))) == list(range(20))
    numbers = Dataset.range(20)
    for other, message in (
        (Dataset.range(10), "compatible cardinalities. Input 1 has cardinality: 10, while all prior inputs have cardinality: 20."),
        (Dataset.from_tensor_slices([1.0] * 20), "the same output types. Input 1 has output types: float. Expected: int64."),
        (numbers.batch(2), r"Component 0 of input 1 has shape: \[\?\]. Expected to be compatible with shape: \[\]."),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            elements(fastest(numbers, other))


def test_fastest_branch():
    made = optimization._ChooseFastestBranchDataset(
        Dataset.range(25), [lambda d: d.batch(2).map(lambda x: x * 2), lambda d: d.map(lambda x: x * 2).batch(2)],
        ratio_numerator=2, num_elements_per_branch=3,
    )  # fmt: skip
    assert elements(made) == [*([4 * i, 4 * i + 2] for i in range(12)), [48]]
    assert run(tf.data.experimental.cardinality(made)) == 50


def test_branches_capture_and_end_early():
    more = tf.constant([3, 4], tf.int64)
    branches = [lambda d: d.map(lambda x: x + more[0]), lambda d: d.map(lambda x: x + more[1] - 1)]
    assert elements(optimization._ChooseFastestBranchDataset(Dataset.range(25), branches, num_elements_per_branch=4)) == list(range(3, 28))
    short = optimization._ChooseFastestBranchDataset(Dataset.range(25), [lambda d: d.take(1)] * 2, num_elements_per_branch=4)
    assert elements(short) == [0]


@pytest.mark.parametrize(
    ("branch", "settings", "message"),
    [
        (lambda d: d, {"ratio_denominator": 3, "num_elements_per_branch": 4}, "must be divisible by `ratio_denominator`"),
        (lambda d: d.repeat(2), {"num_elements_per_branch": 30}, "Cannot create more than one WrapperIterator per WrapperDataset"),
    ],
)
def test_branches_that_cannot_be(branch, settings, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        elements(optimization._ChooseFastestBranchDataset(Dataset.range(25), [branch, branch], **settings))


# ---- functions of rows ----


def rows_of(function, arguments, dtypes, shapes, spec):
    return map_defun(tf.function(function, input_signature=spec), arguments, dtypes, shapes)


def test_function_of_rows():
    x, factor = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), tf.constant([1.0, 2.0])
    spec = [tf.TensorSpec([2], tf.float32)]
    doubled, total = rows_of(lambda v: (v * 2 + 1, tf.reduce_sum(v)), [x], [tf.float32] * 2, [[2], []], spec)
    (scaled,) = rows_of(lambda v: v * factor, [x], [tf.float32], [[2]], spec)
    assert (doubled.shape, total.shape, scaled.op.type, len(scaled.op.inputs)) == ([3, 2], [3], "MapDefun", 2)
    found = run([doubled, total, scaled])
    for have, want in zip(found, ([[3, 5], [7, 9], [11, 13]], [3, 7, 11], [[1, 4], [3, 8], [5, 12]]), strict=True):
        np.testing.assert_array_equal(have, want)


@pytest.mark.parametrize(
    ("values", "shape", "error", "message"),
    [
        ([1.0], None, tf.errors.InvalidArgumentError, "Input 0 has a rank of 0"),
        ([[1.0, 2.0], [1.0]], None, tf.errors.InvalidArgumentError, "Input 1 has leading dimension 1, while all previous inputs have leading dimension 2"),
        ([np.zeros([0, 3])], None, tf.errors.InternalError, "Missing 0-th output from node MapDefun"),
        ([[[1.0, 2.0]]], [7], tf.errors.InvalidArgumentError, r"function retval shape, \[2\], and expected output shape, \[7\]"),
    ],
)
def test_rows_that_do_not_fit(values, shape, error, message):
    fed = [tf.placeholder(tf.float32, None) for _ in values]
    found = rows_of(lambda *v: v[0] * 2, fed, [tf.float32], [shape], [tf.TensorSpec(None, tf.float32)] * len(values))
    with pytest.raises(error, match=message):
        run(found, dict(zip(fed, values, strict=True)))


# ---- others ----


def test_dataset_without_a_graph():
    made = Dataset.range(2).apply(optimization.non_serializable())
    assert elements(made) == [0, 1]
    with pytest.raises(tf.errors.UnimplementedError, match="NonSerializableDatasetOp::Dataset does not support serialization."):
        run(raw.DatasetToGraph(input_dataset=made._variant_tensor))


def test_gradient_array_with_first_sizes():
    array, flow = raw.TensorArrayV3(size=3, dtype=tf.float32, element_shape=[2])
    handle, flow = raw.TensorArrayGradWithShape(handle=array, flow_in=flow, shape_to_prepend=[2], source="gradients")
    for _ in range(2):
        flow = raw.TensorArrayWriteV3(handle=handle, index=1, value=np.full([2, 2], 3, np.float32), flow_in=flow)
    rows = raw.TensorArrayGatherV3(handle=handle, indices=[0, 1, 2], flow_in=flow, dtype=tf.float32, element_shape=None)
    np.testing.assert_array_equal(run(rows), np.array([0, 6, 0], np.float32).reshape(3, 1, 1) * np.ones([3, 2, 2]))
    with pytest.raises(ValueError, match="Shapes must be equal rank, but are 2 and 1"):
        raw.TensorArrayWriteV3(handle=handle, index=1, value=np.ones([2], np.float32), flow_in=flow)


def test_quantized_batch_norm():
    def quint8(values):
        return tf.cast(tf.constant(values, tf.int32), tf.quint8)

    found = run(
        raw.QuantizedBatchNormWithGlobalNormalization(
            t=quint8(np.arange(8).reshape(1, 2, 2, 2) * 20), t_min=-1.0, t_max=10.0, m=quint8([100, 120]), m_min=0.0, m_max=5.0,
            v=quint8([10, 200]), v_min=0.0, v_max=4.0, beta=quint8([5, 90]), beta_min=-1.0, beta_max=1.0, gamma=quint8([200, 50]),
            gamma_min=0.0, gamma_max=2.0, out_type=tf.qint32, variance_epsilon=0.001, scale_after_normalization=True,
        )
    )  # fmt: skip
    wanted = np.array([[[[-25836, -1719], [-11884, -938]], [[2069, -157], [16018, 625]]]])
    np.testing.assert_array_equal(found[0].astype(np.int32), wanted)
    assert found[1:] == (-1048576.0, 1048576.0)
