"""Programs under tf.distribute strategies on two CPU devices: functions of the `tf` module that give what to fetch."""

CPUS = ["/cpu:0", "/cpu:1"]


def _training(tf, strategy, optimizer, with_step=True):
    def step():
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        w = tf.get_variable("w", [2, 3], initializer=tf.ones_initializer())
        b = tf.Variable(tf.zeros([3]), name="b")
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b))
        global_step = tf.train.get_or_create_global_step() if with_step else None
        train = optimizer().minimize(loss, global_step=global_step)
        with tf.control_dependencies([train]):
            return tf.identity(loss)

    with strategy.scope():
        return strategy.reduce(tf.distribute.ReduceOp.MEAN, strategy.experimental_run_v2(step), axis=None)


def mirrored_momentum(tf):
    return _training(tf, tf.distribute.MirroredStrategy(CPUS), lambda: tf.train.MomentumOptimizer(0.01, 0.9))


def mirrored_adam(tf):
    return _training(tf, tf.distribute.MirroredStrategy(CPUS), lambda: tf.train.AdamOptimizer(0.1))


def mirrored_without_step(tf):
    return _training(tf, tf.distribute.MirroredStrategy(CPUS), lambda: tf.train.GradientDescentOptimizer(0.01), False)


def central_momentum(tf):
    strategy = tf.distribute.experimental.CentralStorageStrategy(CPUS, "/cpu:0")
    return _training(tf, strategy, lambda: tf.train.MomentumOptimizer(0.01, 0.9))


def one_device_adam(tf):
    return _training(tf, tf.distribute.OneDeviceStrategy("/cpu:1"), lambda: tf.train.AdamOptimizer(0.1))


def one_device_without_step(tf):
    return _training(tf, tf.distribute.OneDeviceStrategy("/cpu:1"), lambda: tf.train.GradientDescentOptimizer(0.01), False)


def default_momentum(tf):
    return _training(tf, tf.distribute.get_strategy(), lambda: tf.train.MomentumOptimizer(0.01, 0.9))


def _number(tf):
    return tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)


def _assigned(tf, aggregation, method):
    strategy = tf.distribute.MirroredStrategy(CPUS)
    with strategy.scope():
        v = tf.Variable(10.0, name="v", aggregation=aggregation)
        done = strategy.experimental_run_v2(lambda: tf.identity(getattr(v, method)(_number(tf) * 2.0 + 1.0)))
        with tf.control_dependencies([strategy.group(done)]):
            return v.values[0].read_value(), v.values[1].read_value()


def assign_sum(tf):
    return _assigned(tf, tf.VariableAggregation.SUM, "assign")


def assign_add_mean(tf):
    return _assigned(tf, tf.VariableAggregation.MEAN, "assign_add")


def assign_sub_first(tf):
    return _assigned(tf, tf.VariableAggregation.ONLY_FIRST_REPLICA, "assign_sub")


def assign_without_aggregation(tf):
    return _assigned(tf, tf.VariableAggregation.NONE, "assign")


def assign_for_all(tf):
    strategy = tf.distribute.MirroredStrategy(CPUS)
    with strategy.scope():
        v = tf.Variable(10.0, name="v")
        with tf.control_dependencies([strategy.group(v.assign_add(2.5))]):
            return v.values[0].read_value(), v.values[1].read_value()


def _on_read(tf, aggregation):
    strategy = tf.distribute.MirroredStrategy(CPUS)
    with strategy.scope():
        v = tf.get_variable(
            "v", [], initializer=tf.ones_initializer(), aggregation=aggregation,
            synchronization=tf.VariableSynchronization.ON_READ,
        )  # fmt: skip
        done = strategy.experimental_run_v2(lambda: tf.identity(v.assign_add(_number(tf) + 1.0)))
        with tf.control_dependencies([strategy.group(done)]):
            return v.read_value(), v.values[0].read_value(), v.values[1].read_value()


def on_read_sum(tf):
    return _on_read(tf, tf.VariableAggregation.SUM)


def on_read_mean(tf):
    return _on_read(tf, tf.VariableAggregation.MEAN)


def _reduced(tf, reduce_op, axis):
    strategy = tf.distribute.MirroredStrategy(CPUS)
    with strategy.scope():
        rows = tf.placeholder_with_default([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [None, None])
        value = strategy.experimental_run_v2(lambda: rows + _number(tf))
        return strategy.reduce(reduce_op, value, axis=axis)


def reduce_sum(tf):
    return _reduced(tf, tf.distribute.ReduceOp.SUM, None)


def reduce_sum_axis(tf):
    return _reduced(tf, tf.distribute.ReduceOp.SUM, 0)


def reduce_mean_axis(tf):
    return _reduced(tf, tf.distribute.ReduceOp.MEAN, 1)


def all_reduce(tf):
    strategy = tf.distribute.MirroredStrategy(CPUS)

    def replica():
        x = tf.constant([1.0, 2.0]) * (_number(tf) + 1.0)
        total = tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, x)
        return total, tf.gradients(tf.square(total), x)[0]

    with strategy.scope():
        total, slope = strategy.experimental_run_v2(replica)
        return strategy.experimental_local_results(total) + strategy.experimental_local_results(slope)


def merge_call(tf):
    strategy = tf.distribute.MirroredStrategy(CPUS)

    def merged(strategy, x, factor):
        return strategy.extended.reduce_to(tf.distribute.ReduceOp.SUM, x, "/cpu:1") * factor

    def replica():
        with tf.name_scope("inside"):
            return tf.distribute.get_replica_context().merge_call(merged, args=(_number(tf) + 1.0, 3.0))

    with strategy.scope():
        return strategy.experimental_run_v2(replica)


def input_function(tf):
    strategy = tf.distribute.MirroredStrategy(CPUS)
    iterator = strategy.make_input_fn_iterator(lambda context: lambda: tf.constant([1.0, float(context.num_replicas_in_sync)]))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.experimental_run(lambda x: x * 3.0, iterator), axis=None)


def slots(tf):
    strategy = tf.distribute.MirroredStrategy(CPUS)
    with strategy.scope():
        v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
        optimizer = tf.train.MomentumOptimizer(0.5, 0.9)

        def replica():
            return optimizer.apply_gradients([(tf.constant([1.0, 2.0]) * (_number(tf) + 1.0), v)])

        train = strategy.group(strategy.experimental_run_v2(replica))
        slot = tf.global_variables()[-1]
        with tf.control_dependencies([train]):
            return v.values[1].read_value(), slot.values[1].read_value()


def sparse_gradient(tf):
    strategy = tf.distribute.MirroredStrategy(CPUS)
    with strategy.scope():
        v = tf.get_variable("v", [3, 2], initializer=tf.ones_initializer())

        def replica():
            ids = tf.cast([0, 1], tf.int32) + tf.distribute.get_replica_context().replica_id_in_sync_group
            return tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(tf.gather(v, ids) * 2.0))

        with tf.control_dependencies([strategy.group(strategy.experimental_run_v2(replica))]):
            return v.values[0].read_value(), v.values[1].read_value()


PROGRAMS = {
    f.__name__: f
    for f in (
        mirrored_momentum, mirrored_adam, mirrored_without_step, central_momentum, one_device_adam,
        one_device_without_step, default_momentum, assign_sum, assign_add_mean, assign_sub_first, assign_without_aggregation,
        assign_for_all, on_read_sum, on_read_mean, reduce_sum, reduce_sum_axis, reduce_mean_axis, all_reduce, merge_call,
        input_function, slots, sparse_gradient,
    )
}  # fmt: skip


def _names(items):
    return ["a gradient" if "gradients" in item.name else item.name for item in items]


def outcome(tf, program):
    """Nodes, collections and three runs of a program, or its error."""
    with tf.Graph().as_default() as graph:
        try:
            fetches = program(tf)
        except (ValueError, TypeError, RuntimeError) as e:
            return {"error": type(e).__name__}
        nodes = [
            [op.name, op.type, op.device, _names(op.inputs), sorted(_names(op.control_inputs))]
            for op in graph.get_operations()
            if "gradients" not in op.name
        ]
        keys = ("variables", "trainable_variables", "train_op", "global_step")
        collections = {key: [item.name for item in graph.get_collection(key)] for key in keys}
        config = tf.ConfigProto(device_count={"CPU": 2})
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            runs = [session.run(fetches) for _ in range(3)]
    values = [[v.tolist() for v in (run if isinstance(run, tuple) else (run,)) if v is not None] for run in runs]
    return {"nodes": nodes, "collections": collections, "values": values}
