"""`assert_next` names the transformations as TensorFlow 1.15.5 does: probed there with a name that none has."""

import re

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.data.experimental.optimization import _ChooseFastestDataset, assert_next

Dataset = tf.data.Dataset
experimental = tf.data.experimental


def small(x):
    return x < 2


def twice(x):
    return x * 2


PIPELINES = {
    "batch": (lambda d: d.batch(2), ["BatchV2"]),
    "padded": (lambda d: d.padded_batch(2, []), ["PaddedBatchV2"]),
    "cache": (lambda d: d.cache(), ["MemoryCacheImpl"]),
    "concatenate": (lambda d: d.concatenate(Dataset.range(2)), ["Concatenate[0]"]),
    "filter": (lambda d: d.filter(small), ["Filter"]),
    "flat_map": (lambda d: d.flat_map(Dataset.range), ["FlatMap"]),
    "interleave": (lambda d: d.interleave(Dataset.range, 2), ["Interleave"]),
    "parallel interleave": (lambda d: d.interleave(Dataset.range, 2, num_parallel_calls=2), ["ParallelInterleaveV2"]),
    "map": (lambda d: d.map(twice), ["Map"]),
    "parallel map": (lambda d: d.map(twice, 2), ["ParallelMap"]),
    "prefetch": (lambda d: d.prefetch(1), ["Prefetch"]),
    "repeat": (lambda d: d.repeat(2), ["FiniteRepeat"]),
    "repeat for ever": (lambda d: d.repeat(), ["ForeverRepeat"]),
    "shard": (lambda d: d.shard(2, 0), ["Shard"]),
    "shuffle": (lambda d: d.shuffle(3), ["Shuffle"]),
    "shuffle, repeat": (lambda d: d.shuffle(3).repeat(2), ["ShuffleAndRepeat"]),
    "skip": (lambda d: d.skip(1), ["FiniteSkip"]),
    "take": (lambda d: d.take(1), ["FiniteTake"]),
    "take all": (lambda d: d.take(-1), []),
    "skip none": (lambda d: d.skip(0), []),
    "prefetch none": (lambda d: d.prefetch(0), []),
    "repeat once": (lambda d: d.repeat(1), []),
    "unbatch": (lambda d: d.batch(2).unbatch(), ["BatchV2", "Map", "Unbatch"]),
    "zip": (lambda d: Dataset.zip((d, d)), ["Zip[0]"]),
    "enumerate": (lambda d: d.enumerate(), ["Zip[1]"]),
    "scan": (lambda d: d.apply(experimental.scan(np.int64(0), lambda s, x: (s, x))), ["Scan"]),
    "take_while": (lambda d: d.apply(experimental.take_while(small)), ["TakeWhile"]),
    "unique": (lambda d: d.apply(experimental.unique()), ["Unique"]),
    "ignore_errors": (lambda d: d.apply(experimental.ignore_errors()), ["IgnoreErrors"]),
    "map_and_batch": (lambda d: d.apply(experimental.map_and_batch(twice, 2)), ["MapAndBatch"]),
    "map, batch": (lambda d: d.map(twice).batch(2), ["MapAndBatch"]),
    "parallel map, batch": (lambda d: d.map(twice, 2).batch(2), ["MapAndBatch"]),
    "map, map": (lambda d: d.map(twice).map(twice), ["Map", "Map"]),
    "fastest": (lambda d: _ChooseFastestDataset([d, d]), ["ChooseFastest_0"]),
}
OPTIONS = [
    ({"map_fusion": True}, "map, map", ["Map", "Model"]),
    ({"map_parallelization": True}, "map", ["ParallelMap", "Model"]),
    ({"filter_fusion": True}, "filter", ["Filter", "Model"]),
    ({"apply_default_optimizations": False}, "shuffle, repeat", ["Shuffle", "FiniteRepeat", "Model"]),
    ({"apply_default_optimizations": False}, "prefetch none", ["Prefetch", "Model"]),
    ({"apply_default_optimizations": False}, "map, batch", ["Map", "BatchV2", "Model"]),
    ({"apply_default_optimizations": False, "autotune": False}, "map, map", ["Map", "Map"]),
]


def begin(dataset):
    iterator = tf.data.make_initializable_iterator(dataset)
    with tf.Session() as session:
        session.run(iterator.initializer)


def names(make, settings):
    """The names that errors say, one after the other, until too many are asserted."""
    options = tf.data.Options()
    for name, value in settings.items():
        setattr(options.experimental_optimization, name, value)
    found = []
    while True:
        with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError) as error:
            begin(make(Dataset.range(3).apply(assert_next([*found, "?"]))).with_options(options))
        said = re.search(r"at offset (\d) but encountered (\S+) transformation instead", str(error.value))
        if said is None:
            assert f"Asserted next {len(found) + 1} transformations but encountered only {len(found)}." in str(error.value)
            return found
        assert int(said[1]) == len(found)
        found.append(said[2])


@pytest.mark.parametrize("name", PIPELINES)
def test_names(name):
    make, wanted = PIPELINES[name]
    assert names(make, {}) == [*wanted, "Model"]


@pytest.mark.parametrize(("settings", "name", "wanted"), OPTIONS)
def test_optimizations_change_names(settings, name, wanted):
    assert names(PIPELINES[name][0], settings) == wanted


def test_what_holds_is_silent():
    with tf.Graph().as_default(), tf.Session() as session:
        dataset = Dataset.range(3).apply(assert_next(["MapAndBatch"])).map(twice).batch(2)
        assert session.run(tf.data.make_one_shot_iterator(dataset).get_next()).tolist() == [0, 2]
    with pytest.raises(ValueError, match="At least one transformation"):
        Dataset.range(3).apply(assert_next(None))


def test_reductions_check_too():
    with tf.Graph().as_default(), tf.Session() as session:
        total = Dataset.range(3).apply(assert_next(["Batch"])).map(twice).reduce(np.int64(0), lambda s, x: s + x)
        with pytest.raises(tf.errors.InvalidArgumentError, match="Asserted Batch transformation at offset 0 but encountered Map"):
            session.run(total)
