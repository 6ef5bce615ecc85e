"""Tags and values of the statistics of pipelines; all are those of TensorFlow 1.15.5."""

import pytest

import tfcompat as tf
from tfcompat._src.eager.mode import eager_mode

D = tf.data.Dataset


def statistics(dataset, count, prefix=""):
    """Each tag with its last value, or the number, minimum and maximum of its histogram."""
    with tf.Graph().as_default(), tf.Session() as session:
        aggregator, options = tf.data.experimental.StatsAggregator(), tf.data.Options()
        options.experimental_stats.aggregator, options.experimental_stats.prefix = aggregator, prefix
        options.experimental_stats.latency_all_edges = False
        elements = dataset().with_options(options).make_initializable_iterator()
        following, summary = elements.get_next(), aggregator.get_summary()
        session.run(elements.initializer)
        for _ in range(count):
            session.run(following)
        found = tf.Summary.FromString(session.run(summary))
    return {v.tag: (v.histo.num, v.histo.min, v.histo.max) if v.HasField("histo") else v.simple_value for v in found.value}


def parsed(features):
    example = tf.train.Example()
    example.features.feature["a"].int64_list.value.extend([1, 2, 3])
    example.features.feature["b"].bytes_list.value.append(b"x")
    text = example.SerializeToString()
    return D.from_tensors(text).repeat(5).batch(2).apply(tf.data.experimental.parse_example_dataset(features))


def test_prefetching_notes_the_buffer():
    found = statistics(lambda: D.range(10).prefetch(1), 3)
    assert found == {
        "PrefetchDataset/_5::buffer_capacity": 1, "PrefetchDataset/_5::buffer_size": 1,
        "PrefetchDataset/_5::buffer_utilization": (3, 1, 1),
    }  # fmt: skip


@pytest.mark.parametrize("count, dropped", [(1, None), (3, 4), (4, 6)])
def test_filters_count_elements(count, dropped):
    found = statistics(lambda: D.range(10).filter(lambda x: tf.equal(x % 3, 0)), count)
    assert found.get("FilterDataset/_4::dropped_elements") == dropped
    assert found["FilterDataset/_4::filtered_elements"] == count


def test_datasets_have_the_numbers_of_the_nodes_of_their_pipeline():
    found = statistics(lambda: D.range(10).prefetch(2).filter(lambda x: tf.equal(x % 2, 0)).prefetch(1), 3)
    assert {tag.partition("::")[0] for tag in found} == {"PrefetchDataset/_5", "FilterDataset/_6", "PrefetchDataset/_8"}
    found = statistics(lambda: D.range(10).map(lambda x: x + 1).batch(2).shuffle(3).repeat(2).prefetch(1), 3)
    assert {tag.partition("::")[0] for tag in found} == {"PrefetchDataset/_15"}


def test_parallel_calls_note_their_time_and_threads():
    found = statistics(lambda: D.range(10).map(lambda x: x + 1, num_parallel_calls=4), 5)
    (timed,) = [tag for tag in found if tag.startswith("ParallelMap::__inference_Dataset_map_<lambda>_") and tag.endswith("::execution_time")]
    assert found[timed][0] >= 5 and 0 <= found["ParallelMapDataset/_5::thread_utilization"] <= 1
    found = statistics(lambda: D.range(10).apply(tf.data.experimental.map_and_batch(lambda x: x + 1, 2)), 3)
    assert "MapAndBatchDataset/_7::thread_utilization" in found and any(tag.startswith("MapAndBatch::") for tag in found)


def test_parallel_interleaving_notes_its_threads():
    found = statistics(lambda: D.range(4).interleave(lambda x: D.range(3), cycle_length=2, num_parallel_calls=2), 5)
    assert list(found) == ["ParallelInterleaveDatasetV2/_7::thread_utilization"]


def test_a_cycle_of_one_may_choose_its_parallel_calls():
    with eager_mode():
        dataset = D.range(2).interleave(lambda x: D.range(2), cycle_length=1, num_parallel_calls=-1)
        assert [int(x) for x in dataset] == [0, 1, 0, 1]


def test_parsing_counts_features_and_parsed_values():
    found = statistics(lambda: parsed({"a": tf.VarLenFeature(tf.int64), "b": tf.FixedLenFeature([], tf.string)}), 3)
    assert found["ParseExampleDataset/_9::features_count"] == (5, 2, 2)
    assert found["ParseExampleDataset/_9::feature_values_count"] == (5, 4, 4)
    found = statistics(lambda: parsed({"b": tf.FixedLenFeature([], tf.string)}), 3, prefix="x")
    (values,) = [tag for tag in found if tag.endswith("feature_values_count")]
    assert values.startswith("x::ParseExampleDataset/_") and found[values] == (5, 1, 1)
