"""Pipelines whose elements are golden: each a function of `tf` that gives a dataset, and how many elements are looked at."""

PIPELINES = {}
MOST = 24


def pipeline(make):
    PIPELINES[make.__name__] = make
    return make


def _range(tf, *args):
    return tf.data.Dataset.range(*args)


@pipeline
def slices_map_batch(tf):
    return tf.data.Dataset.from_tensor_slices(([1, 2, 3], ["a", "b", "c"])).map(lambda x, y: (x * 2, y + "!")).batch(2)


@pipeline
def batch_drop_remainder(tf):
    return _range(tf, 7).batch(3, drop_remainder=True)


@pipeline
def padded(tf):
    return _range(tf, 5).map(lambda x: tf.fill([tf.cast(x, tf.int32)], x)).padded_batch(2, [None], padding_values=tf.constant(-1, tf.int64))


@pipeline
def shuffled(tf):
    return _range(tf, 10).shuffle(4, seed=7)


@pipeline
def shuffled_and_repeated(tf):
    return _range(tf, 6).shuffle(4, seed=7).repeat(3)


@pipeline
def shuffled_mapped_and_repeated(tf):
    return _range(tf, 6).shuffle(4, seed=7).map(lambda x: x + 1).repeat(3)


@pipeline
def shuffled_alike_and_repeated(tf):
    return _range(tf, 6).shuffle(4, seed=7, reshuffle_each_iteration=False).map(lambda x: x + 1).repeat(3)


@pipeline
def repeated_and_shuffled(tf):
    return _range(tf, 4).repeat(3).shuffle(5, seed=1)


@pipeline
def shuffle_and_repeat(tf):
    return _range(tf, 5).apply(tf.data.experimental.shuffle_and_repeat(3, 3, seed=2))


@pipeline
def filtered(tf):
    return _range(tf, 10).filter(lambda x: tf.equal(x % 3, 0))


@pipeline
def flat_mapped(tf):
    return _range(tf, 5).flat_map(lambda x: tf.data.Dataset.from_tensors(x).repeat(x))


@pipeline
def interleaved(tf):
    return _range(tf, 2, 7).interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(x), cycle_length=3, block_length=2)


@pipeline
def parallel_interleaved(tf):
    return _range(tf, 2, 7).interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(x), 3, 2, num_parallel_calls=2)


@pipeline
def windows(tf):
    return _range(tf, 9).window(3, shift=2, stride=2).flat_map(lambda w: w.batch(3))


@pipeline
def windows_drop_remainder(tf):
    return _range(tf, 9).window(3, shift=4, drop_remainder=True).flat_map(lambda w: w.batch(3))


@pipeline
def sharded(tf):
    return _range(tf, 11).shard(3, 1)


@pipeline
def zipped(tf):
    return tf.data.Dataset.zip((_range(tf, 3), {"a": _range(tf, 5).skip(2)}))


@pipeline
def concatenated(tf):
    return _range(tf, 3).concatenate(_range(tf, 5, 7)).cache().repeat(2)


@pipeline
def enumerated(tf):
    return _range(tf, 8).take(3).enumerate(start=5)


@pipeline
def unbatched(tf):
    return _range(tf, 6).batch(4).apply(tf.data.experimental.unbatch())


@pipeline
def generated(tf):
    return tf.data.Dataset.from_generator(lambda: ((i, "x" * i) for i in range(4)), (tf.int32, tf.string), ([], []))


@pipeline
def ignoring_errors(tf):
    checked = _range(tf, 6).map(lambda x: tf.check_numerics(1.0 / tf.cast(x % 3, tf.float32), "not finite"))
    return checked.apply(tf.data.experimental.ignore_errors())


@pipeline
def grouped(tf):
    grouping = tf.data.experimental.group_by_window(lambda x: x % 3, lambda key, group: group.batch(3), window_size=3)
    return _range(tf, 10).apply(grouping)


@pipeline
def bucketed(tf):
    lengths = _range(tf, 1, 12).map(lambda x: tf.fill([tf.cast(x * 3 % 7, tf.int32)], x))
    return lengths.apply(tf.data.experimental.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 5], [2, 2, 3]))


@pipeline
def sampled(tf):
    return tf.data.experimental.sample_from_datasets([_range(tf, 8), _range(tf, 100, 108)], [0.3, 0.7], seed=11)


@pipeline
def chosen(tf):
    choices = tf.data.Dataset.from_tensor_slices(tf.constant([1, 0, 1, 1, 0], tf.int64))
    return tf.data.experimental.choose_from_datasets([_range(tf, 8), _range(tf, 100, 108)], choices)


@pipeline
def scanned(tf):
    return _range(tf, 6).apply(tf.data.experimental.scan(tf.constant(0, tf.int64), lambda total, x: (total + x, total * 10)))


@pipeline
def random_numbers(tf):
    return tf.data.experimental.RandomDataset(seed=4).take(5)


@pipeline
def random_functions(tf):
    tf.set_random_seed(5)
    return _range(tf, 4).map(lambda x: tf.random_uniform([2], seed=3)).repeat(2)


@pipeline
def mapped_and_batched(tf):
    return _range(tf, 7).apply(tf.data.experimental.map_and_batch(lambda x: x * x, 3))


@pipeline
def sparse(tf):
    table = tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])
    return tf.data.Dataset.from_tensor_slices(table).map(tf.sparse_tensor_to_dense)


def _classes(tf):
    return tf.data.Dataset.from_tensor_slices([i * i % 5 % 3 for i in range(60)]).repeat(4)


@pipeline
def resampled(tf):
    resample = tf.data.experimental.rejection_resample(lambda c: c, [0.5, 0.3, 0.2], initial_dist=[0.4, 0.4, 0.2], seed=27)
    return _classes(tf).apply(resample)


@pipeline
def resampled_by_estimate(tf):
    return _classes(tf).apply(tf.data.experimental.rejection_resample(lambda c: c, [0.2, 0.3, 0.5], seed=5))


@pipeline
def dense_to_sparse(tf):
    rows = _range(tf, 1, 6).map(lambda x: tf.fill([tf.cast(x, tf.int32)], x))
    return rows.apply(tf.data.experimental.dense_to_sparse_batch(2, [7])).map(tf.sparse_tensor_to_dense)


@pipeline
def batched_sparse(tf):
    return _range(tf, 4).map(lambda x: tf.SparseTensor([[x, 0]], [x], [5, 2])).batch(3).map(tf.sparse_tensor_to_dense)


@pipeline
def parallel_random(tf):
    tf.set_random_seed(9)
    return _range(tf, 6).map(lambda x: tf.random_uniform([], maxval=100, dtype=tf.int32, seed=4) * 0 + tf.cast(x, tf.int32), num_parallel_calls=3)


@pipeline
def buffered_interleave(tf):
    interleave = tf.data.experimental.parallel_interleave(lambda x: tf.data.Dataset.from_tensors(x).repeat(x), 2, 2)
    return _range(tf, 1, 6).apply(interleave)


@pipeline
def on_another_device(tf):
    return _range(tf, 5).apply(tf.data.experimental.copy_to_device("/cpu:0"))


@pipeline
def prefetched_to_device(tf):
    return _range(tf, 5).apply(tf.data.experimental.prefetch_to_device("/cpu:0", 2))


@pipeline
def with_threads_and_statistics(tf):
    options = tf.data.Options()
    options.experimental_threading.private_threadpool_size = 2
    options.experimental_threading.max_intra_op_parallelism = 1
    latency = tf.data.experimental.latency_stats("t")
    return _range(tf, 4).map(lambda x: x + 1, num_parallel_calls=2).apply(latency).with_options(options)


@pipeline
def contrib_sliding(tf):
    return _range(tf, 9).apply(tf.contrib.data.sliding_window_batch(3, window_shift=2, window_stride=2))


@pipeline
def contrib_batches(tf):
    return _range(tf, 7).apply(tf.contrib.data.batch_and_drop_remainder(3)).apply(tf.contrib.data.assert_element_shape(tf.TensorShape([3])))


@pipeline
def contrib_padded(tf):
    rows = _range(tf, 1, 6).map(lambda x: tf.fill([tf.cast(x, tf.int32)], x))
    return rows.apply(tf.contrib.data.padded_batch_and_drop_remainder(2, [None]))


@pipeline
def tensor_arrays(tf):
    def numbers(x):
        count = tf.cast(x, tf.int32)
        return tf.TensorArray(tf.int32, size=count, element_shape=()).unstack(tf.range(count))

    return _range(tf, 4).map(numbers).map(lambda array: (array.size(), array.stack() * 2))
