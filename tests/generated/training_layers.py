"""Layers that drawn training programs are stacked of, by the rank of what they take. Every function takes the program and a tensor."""

LAYERS = {2: [], 3: [], 4: []}


def layer(*ranks):
    """Registers a function as a layer of tensors of these ranks."""

    def add(function):
        for rank in ranks:
            LAYERS[rank].append(function)
        return function

    return add


def width(x):
    return int(x.shape[-1])


@layer(2, 3, 4)
def dense(program, x):
    tf, pick = program.tf, program.pick
    options = {
        "activation": program.activation(), "use_bias": pick(True, True, False), "kernel_initializer": program.initializer(),
        "kernel_regularizer": program.regularizer(), "kernel_constraint": pick(None, None, tf.keras.constraints.MaxNorm(1.5)),
    }  # fmt: skip
    return pick(tf.layers.Dense, tf.keras.layers.Dense)(pick(3, 4, 6), **options)(x)


@layer(2)
def fully_connected(program, x):
    layers = program.tf.contrib.layers
    normalizer = program.pick(None, layers.layer_norm, layers.batch_norm)
    options = {"is_training": program.training} if normalizer is layers.batch_norm else None
    return layers.fully_connected(x, program.pick(3, 5), program.activation(), normalizer, options, program.initializer())


@layer(2)
def product(program, x):
    tf, units = program.tf, program.pick(3, 4)
    parts = program.pick(None, tf.fixed_size_partitioner(2), tf.variable_axis_size_partitioner(24))
    with program.scope(partitioner=parts, use_resource=program.pick(None, True)):
        kernel = tf.get_variable("w", [width(x), units], x.dtype, program.initializer(), program.regularizer())
        bias = tf.get_variable("b", [units], x.dtype, tf.zeros_initializer())
        return program.pick(lambda: tf.nn.xw_plus_b(x, kernel, bias), lambda: tf.nn.bias_add(tf.matmul(x, kernel), bias))()


@layer(2, 3, 4)
def activation(program, x):
    tf = program.tf
    functions = [tf.nn.relu6, tf.nn.selu, tf.nn.crelu, tf.nn.leaky_relu, tf.nn.softsign, tf.sin, tf.nn.softmax, tf.nn.log_softmax]
    functions += [tf.keras.layers.PReLU(), tf.keras.layers.ThresholdedReLU(0.2), lambda t: tf.nn.l2_normalize(t, -1), lambda t: tf.clip_by_value(t, -1.0, 1.0)]
    return program.pick(*functions)(x)


@layer(2, 3, 4)
def dropout(program, x):
    tf, seed = program.tf, program.pick(1, 5, 77)
    sizes = [program.batch] + [1] * (len(x.shape) - 2) + [width(x)]
    return program.pick(
        lambda: tf.layers.dropout(x, 0.3, program.pick(None, sizes), seed, program.training),
        lambda: tf.nn.dropout(x, keep_prob=0.8, seed=seed),
        lambda: tf.nn.dropout(x, rate=tf.cast(0.25, x.dtype), seed=seed),
        lambda: tf.keras.layers.Dropout(0.4, seed=seed)(x, training=program.training),
        lambda: x + tf.random.normal(tf.shape(x), stddev=0.1, dtype=x.dtype, seed=seed),
    )()


@layer(2, 3, 4)
def normalization(program, x):
    tf, pick = program.tf, program.pick
    options = {"momentum": pick(0.9, 0.5), "center": pick(True, False), "scale": pick(True, False)}
    return pick(
        lambda: tf.layers.batch_normalization(x, training=program.training, renorm=pick(False, False, True), **options),
        lambda: tf.layers.batch_normalization(x, axis=1, training=program.training, fused=pick(None, False), **options),
        lambda: tf.keras.layers.BatchNormalization(**options)(x, training=program.training),
        lambda: tf.contrib.layers.batch_norm(x, 0.9, is_training=program.training, updates_collections=pick(None, tf.GraphKeys.UPDATE_OPS)),
        lambda: tf.contrib.layers.layer_norm(x),
        lambda: tf.nn.batch_normalization(x, *tf.nn.moments(x, [0], keep_dims=True), None, None, 1e-3),
    )()


@layer(2, 3)
def branches(program, x):
    tf = program.tf
    paths = [dense(program, x) for _ in range(program.pick(2, 3))]
    return program.pick(lambda: tf.concat([x] + paths, -1), lambda: tf.keras.layers.Concatenate()(paths), lambda: tf.add_n([paths[0]] * 2))()


@layer(2, 3, 4)
def residual(program, x):
    tf = program.tf
    return x + tf.layers.dense(program.pick(tf.identity, tf.stop_gradient, tf.tanh)(x), width(x), program.activation())


@layer(2, 3, 4)
def choice(program, x):
    """A branch that the training flag, or the values, choose."""
    tf = program.tf
    chosen = program.pick(tf.convert_to_tensor(program.training), tf.reduce_sum(x) > 0)
    with program.scope():
        scale = tf.get_variable("scale", [width(x)], x.dtype, tf.ones_initializer())
    made = program.pick(lambda: tf.layers.dense(x, width(x)), lambda: tf.sin(x) * scale, lambda: tf.layers.dropout(x, 0.5, seed=3, training=True))
    return program.pick(
        lambda: tf.cond(chosen, made, lambda: x * scale),
        lambda: tf.cond(chosen, lambda: tf.reverse(x, [-1]), made),
        lambda: tf.case([(chosen, made)], default=lambda: tf.square(x), exclusive=True),
        lambda: tf.where(tf.fill(tf.shape(x), tf.convert_to_tensor(chosen)), x, x * scale),
    )()


@layer(2, 3)
def loop(program, x):
    """Some steps with shared weights."""
    tf, count = program.tf, program.pick(2, 3)
    with program.scope():
        kernel = tf.get_variable("w", [width(x), width(x)], x.dtype, program.initializer())

    def body(i, t):
        return i + 1, tf.tanh(tf.tensordot(t, kernel, 1)) * (1 + tf.cast(i, t.dtype))

    static = program.pick(tf.constant(count), tf.minimum(count, tf.shape(x)[0]))
    return tf.while_loop(lambda i, t: i < static, body, (0, x), parallel_iterations=program.pick(1, 10))[1]


@layer(2, 3)
def along(program, x):
    """Rows one after another: map_fn, scan or a TensorArray."""
    tf = program.tf
    with program.scope():
        kernel = tf.get_variable("w", list(x.shape[1:]), x.dtype, program.initializer())

    def array():
        rows = tf.TensorArray(x.dtype, 0, dynamic_size=True, infer_shape=False, clear_after_read=False)
        first = tf.TensorArray(x.dtype, tf.shape(x)[0]).unstack(x)
        write = lambda i, r: (i + 1, r.write(i, first.read(i) * kernel))  # noqa: E731
        stacked = tf.while_loop(lambda i, r: i < tf.shape(x)[0], write, (0, rows))[1].stack()
        return tf.reshape(stacked, tf.shape(x)) + tf.zeros_like(x)

    return program.pick(
        lambda: tf.map_fn(lambda row: tf.sigmoid(row * kernel), x), array,
        lambda: tf.scan(lambda a, row: tf.tanh(a * kernel + row), x, tf.zeros_like(x[0]), reverse=program.pick(True, False)),
        lambda: tf.scan(lambda a, row: 0.5 * a + row * kernel, x),
    )()  # fmt: skip


@layer(2)
def lookup(program, x):
    """A table's rows for the largest columns."""
    tf = program.tf
    with program.scope(partitioner=program.pick(None, tf.fixed_size_partitioner(3))):
        table = tf.get_variable("table", [width(x) + 2, 3], x.dtype, program.initializer())
    values, indices = tf.nn.top_k(x, 2)
    how = {"partition_strategy": program.pick("mod", "div"), "max_norm": program.pick(None, 0.7)}
    return tf.reshape(tf.nn.embedding_lookup(table, indices, **how) * values[:, :, None], [-1, 6])


@layer(2)
def unfold(program, x):
    tf, units = program.tf, program.pick(2, 4)
    if program.pick(True, False):
        return tf.reshape(tf.layers.dense(x, 3 * units), [-1, 3, units])
    return tf.keras.layers.Reshape((4, 4, units))(tf.layers.dense(x, 16 * units, tf.nn.relu))


@layer(3)
def recurrent(program, x):
    tf, cells, units = program.tf, program.tf.nn.rnn_cell, program.pick(3, 4)

    def cell():
        made = program.pick(
            lambda: cells.BasicLSTMCell(units, forget_bias=0.5), lambda: cells.GRUCell(units), lambda: cells.BasicRNNCell(units),
            lambda: cells.LSTMCell(units, program.pick(True, False), cell_clip=program.pick(None, 0.5), num_proj=program.pick(None, units)),
            lambda: tf.contrib.rnn.LayerNormBasicLSTMCell(units, dropout_keep_prob=0.9, dropout_prob_seed=4),
            lambda: tf.contrib.rnn.LSTMBlockCell(units), lambda: tf.contrib.rnn.GRUBlockCellV2(units), lambda: tf.contrib.rnn.UGRNNCell(units),
            lambda: tf.keras.layers.LSTMCell(units), lambda: tf.keras.layers.GRUCell(units),
        )()  # fmt: skip
        wrapper = program.pick(None, None, cells.DropoutWrapper, cells.ResidualWrapper)
        if wrapper is cells.DropoutWrapper:
            return wrapper(made, 0.9, 0.8, 0.9, variational_recurrent=program.pick(True, False), input_size=x.shape[2:], dtype=x.dtype, seed=9)
        return wrapper(made) if wrapper and units == width(x) else made

    lengths = program.pick(None, program.lengths(x))
    how = {"dtype": x.dtype, "sequence_length": lengths, "swap_memory": program.pick(False, True)}
    with program.scope():
        return program.pick(
            lambda: tf.nn.dynamic_rnn(cell(), x, **how)[0],
            lambda: tf.nn.dynamic_rnn(cells.MultiRNNCell([cells.GRUCell(units), cells.LSTMCell(units)]), x, **how)[0],
            lambda: tf.concat(tf.nn.bidirectional_dynamic_rnn(cell(), cell(), x, **how)[0], -1),
            lambda: tf.stack(tf.nn.static_rnn(cell(), tf.unstack(x, axis=1), dtype=x.dtype, sequence_length=lengths)[0], 1),
        )()


@layer(3)
def keras_recurrent(program, x):
    keras, pick = program.tf.keras.layers, program.pick
    made = pick(keras.LSTM, keras.GRU, keras.SimpleRNN)(
        pick(2, 4), return_sequences=True, go_backwards=pick(False, True), unroll=pick(False, True), recurrent_initializer="glorot_uniform"
    )
    mask = program.tf.sequence_mask(program.lengths(x), int(x.shape[1]))
    return pick(lambda: made(x), lambda: made(x, mask=mask), lambda: keras.Bidirectional(made, merge_mode=pick("sum", "concat"))(x))()


@layer(3)
def attention(program, x):
    tf = program.tf
    query, key, value = (tf.layers.dense(x, 4, use_bias=False, name=None) for _ in range(3))
    if program.pick(True, False):
        return tf.keras.layers.Attention(use_scale=program.pick(True, False))([query, value, key])
    scores = program.pick(lambda: tf.matmul(query, key, transpose_b=True), lambda: tf.einsum("bqd,bkd->bqk", query, key))()
    mask = tf.sequence_mask(program.lengths(x), int(x.shape[1]), x.dtype)[:, None]
    return tf.matmul(tf.nn.softmax(scores / 2.0 - 9.0 * (1 - mask)), value)


@layer(3)
def over_time(program, x):
    tf, last = program.tf, program.lengths(x) - 1
    return program.pick(
        lambda: tf.reduce_max(x, 1), lambda: tf.reduce_logsumexp(x, [1]), lambda: tf.layers.flatten(x), lambda: tf.keras.layers.GlobalAveragePooling1D()(x),
        lambda: tf.gather_nd(x, tf.stack([tf.range(tf.shape(x)[0]), last], 1)), lambda: tf.batch_gather(x, last[:, None])[:, 0],
        lambda: tf.segment_mean(tf.reshape(x, [-1, width(x)]), tf.range(tf.size(x) // width(x)) // int(x.shape[1])),
    )()  # fmt: skip


@layer(3)
def convolution_1d(program, x):
    tf, pick = program.tf, program.pick
    options = {"padding": pick("same", "causal"), "activation": program.activation(), "kernel_initializer": program.initializer()}
    return pick(
        lambda: tf.keras.layers.Conv1D(3, 2, dilation_rate=pick(1, 2), **options)(x), lambda: tf.layers.conv1d(x, 4, 3, padding="same"),
        lambda: tf.layers.separable_conv1d(x, 4, 3, padding="same"), lambda: tf.layers.max_pooling1d(x, 2, 1, "same"),
        lambda: tf.keras.layers.TimeDistributed(tf.keras.layers.Dense(3))(x), lambda: tf.reverse_sequence(x, program.lengths(x), 1, 0),
        lambda: tf.pad(x, [[0, 0], [1, 0], [0, 0]], pick("CONSTANT", "REFLECT"))[:, :-1], lambda: tf.cumsum(x, 1, exclusive=pick(True, False)),
    )()  # fmt: skip


@layer(4, 4)
def convolution(program, x):
    tf, pick = program.tf, program.pick
    size, filters = pick(1, 2, 3), pick(2, 4)
    options = {"padding": pick("same", "valid") if int(x.shape[1]) > 3 else "same", "activation": program.activation()}
    with program.scope():
        return pick(
            lambda: tf.layers.conv2d(x, filters, size, pick(1, 2), kernel_regularizer=program.regularizer(), **options),
            lambda: tf.keras.layers.Conv2D(filters, size, dilation_rate=pick(1, 2), **dict(options, padding="same"))(x),
            lambda: tf.layers.conv2d_transpose(x, filters, size, pick(1, 2), **options),
            lambda: tf.layers.separable_conv2d(x, filters, size, depth_multiplier=2, **options),
            lambda: tf.keras.layers.DepthwiseConv2D(size, depth_multiplier=2, **options)(x),
            lambda: tf.contrib.layers.conv2d(x, filters, size, normalizer_fn=tf.contrib.layers.layer_norm),
            lambda: tf.nn.conv2d(x, tf.get_variable("w", [size, size, width(x), filters], x.dtype), [1, 1, 1, 1], "SAME"),
            lambda: tf.nn.dilation2d(x, tf.get_variable("w", [size, size, width(x)], x.dtype), [1] * 4, [1] * 4, "SAME"),
            lambda: tf.keras.layers.LocallyConnected2D(filters, 2)(x),
        )()


@layer(4, 4)
def picture(program, x):
    tf, pick = program.tf, program.pick
    return pick(
        lambda: tf.layers.max_pooling2d(x, 2, pick(1, 2), "same"), lambda: tf.layers.average_pooling2d(x, 3, pick(1, 2), "same"),
        lambda: tf.keras.layers.UpSampling2D(2, interpolation=pick("nearest", "bilinear"))(x), lambda: tf.nn.lrn(x, 2),
        lambda: tf.image.resize_bilinear(x, [5, 6], align_corners=pick(True, False)), lambda: tf.pad(x, [[0, 0], [1, 1], [1, 0], [0, 0]], "SYMMETRIC"),
        lambda: tf.image.flip_left_right(x), lambda: tf.nn.pool(x, [2, 2], pick("AVG", "MAX"), "SAME"), lambda: tf.transpose(x, [0, 2, 1, 3]),
        lambda: tf.image.extract_image_patches(x, [1, 2, 2, 1], [1] * 4, [1] * 4, "SAME"),
    )()  # fmt: skip


@layer(4)
def flat(program, x):
    tf = program.tf
    return program.pick(
        lambda: tf.layers.flatten(x), lambda: tf.keras.layers.GlobalMaxPooling2D()(x), lambda: tf.reduce_mean(x, [1, 2]),
        lambda: tf.reshape(x, [-1, int(x.shape[1]), int(x.shape[2]) * width(x)]), lambda: tf.contrib.layers.spatial_softmax(x),
    )()  # fmt: skip
