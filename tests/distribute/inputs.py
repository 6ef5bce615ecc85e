"""Inputs of strategies whose nodes and values are golden: each a function of `tf` that gives (strategy, iterator)."""

INPUTS = {}
TWO = ["/cpu:0", "/cpu:1"]


def case(make):
    INPUTS[make.__name__] = make
    return make


def _batches(tf):
    return tf.data.Dataset.range(11).batch(4)


@case
def mirrored_dataset_iterator(tf):
    strategy = tf.distribute.MirroredStrategy(TWO)
    return strategy, strategy.make_dataset_iterator(_batches(tf))


@case
def mirrored_distributed_dataset(tf):
    strategy = tf.distribute.MirroredStrategy(TWO)
    return strategy, strategy.experimental_distribute_dataset(_batches(tf)).make_initializable_iterator()


@case
def mirrored_input_function(tf):
    strategy = tf.distribute.MirroredStrategy(TWO)
    make = lambda context: tf.data.Dataset.range(11).batch(context.get_per_replica_batch_size(4))
    return strategy, strategy.make_input_fn_iterator(make)


@case
def mirrored_over_one_device(tf):
    strategy = tf.distribute.MirroredStrategy(TWO[:1])
    return strategy, strategy.make_dataset_iterator(_batches(tf))


@case
def contrib_mirrored(tf):
    strategy = tf.contrib.distribute.MirroredStrategy(TWO)
    return strategy, strategy.make_dataset_iterator(_batches(tf))


@case
def one_device(tf):
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    return strategy, strategy.make_dataset_iterator(_batches(tf))


@case
def default_strategy(tf):
    strategy = tf.distribute.get_strategy()
    return strategy, strategy.make_dataset_iterator(_batches(tf))


def observed(tf, make):
    """The nodes, and the values of each replica in two passes."""
    with tf.Graph().as_default() as graph:
        strategy, iterator = make(tf)
        initializer = iterator.initialize()
        parts = list(strategy.experimental_local_results(iterator.get_next()))
        nodes = [[op.name, op.type, [t.name for t in op.inputs], op.device] for op in graph.get_operations()]
        found = []
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            for _ in range(2):
                session.run(initializer)
                while True:
                    try:
                        found.append([value.tolist() for value in session.run(parts)])
                    except tf.errors.OutOfRangeError:
                        found.append("end")
                        break
    return {"nodes": nodes, "values": found}
