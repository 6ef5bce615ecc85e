"""Training programs drawn from a number: an input, a stack of layers, a loss, an optimizer with clipping and a schedule, and some steps.

Both programs run them: `tf` is tfcompat, or TensorFlow 1.15 in Python 3.7.
"""

import random

import numpy as np

from generated.training_layers import LAYERS, width

STEPS = 5


class Program:
    """Draws what a training program needs. `moved`: nonzero for fed numbers that are changed by about `MOVE`, as that number draws."""

    MOVE = {"float32": 1e-6, "float64": 1e-13}

    def __init__(self, tf, number, moved=0):
        self.tf, self.random, self.moved = tf, random.Random(number), moved
        self.arrays = np.random.RandomState(number % 2**32)
        self.kind = self.pick("float32", "float32", "float64")
        self.batch = self.pick(3, 4)
        self.feed, self.scopes, self.layers = {}, 0, []
        self.training = True

    def pick(self, *options):
        return self.random.choice(options)

    def scope(self, **options):
        """A variable scope with a name of its own."""
        self.scopes += 1
        return self.tf.variable_scope("part_%d" % self.scopes, **options)

    def activation(self):
        nn = self.tf.nn
        return self.pick(None, nn.relu, nn.tanh, nn.sigmoid, nn.elu, nn.softplus, self.tf.keras.activations.hard_sigmoid, nn.swish)

    def initializer(self):
        tf = self.tf
        return self.pick(
            None, tf.glorot_normal_initializer(), tf.orthogonal_initializer(0.9), tf.truncated_normal_initializer(stddev=0.3), tf.initializers.he_uniform(),
            tf.random_uniform_initializer(-0.4, 0.4, seed=3), tf.variance_scaling_initializer(0.8, "fan_avg"), tf.contrib.layers.xavier_initializer(),
        )  # fmt: skip

    def regularizer(self):
        tf = self.tf
        return self.pick(None, None, tf.contrib.layers.l2_regularizer(0.01), tf.keras.regularizers.l1_l2(0.01, 0.02), tf.contrib.layers.l1_regularizer(0.01))

    def lengths(self, x):
        """How long each sequence of a batch is."""
        name = "lengths_%d" % int(x.shape[1])
        return self.fed(name, self.arrays.randint(1, int(x.shape[1]) + 1, self.batch).astype(np.int32))

    def fed(self, name, array):
        """A placeholder for an array, the same one for the same name."""
        for tensor in self.feed:
            if tensor.op.name == name:
                return tensor
        if self.moved and array.dtype.kind == "f":
            array = array * (1 + self.MOVE[self.kind] * np.random.RandomState(self.moved).choice([-1, 1], array.shape)).astype(self.kind)
        tensor = self.tf.placeholder(array.dtype, [self.pick(None, self.batch)] + list(array.shape[1:]), name)
        self.feed[tensor] = array
        return tensor

    def input(self):
        tf, arrays, shape = self.tf, self.arrays, [self.batch, self.pick(3, 5)]
        how = self.pick("vector", "sequence", "image", "ids", "ids")
        if how == "ids":
            ids = self.fed("ids", arrays.randint(0, 7, shape))
            if self.pick(True, False):
                return tf.keras.layers.Embedding(7, 3, dtype=self.kind)(ids)
            table = tf.get_variable("embedding", [7, 4], self.kind, self.initializer())
            return self.pick(lambda: tf.nn.embedding_lookup(table, ids), lambda: tf.gather(table, ids))()
        shape = {"vector": shape, "sequence": shape + [3], "image": [self.batch, self.pick(4, 6), 6, self.pick(1, 3)]}[how]
        return self.fed("x", arrays.uniform(-1.5, 1.5, shape).astype(self.kind))

    def stack(self):
        """The output of two to six layers, of rank 2."""
        x = self.input()
        for _ in range(self.random.randint(2, 6)):
            add = self.pick(*LAYERS[len(x.shape)])
            self.layers.append(add.__name__)
            x = add(self, x)
        return self.tf.layers.flatten(x)

    def loss(self, x):
        tf, losses, classes = self.tf, self.tf.losses, self.pick(2, 4)
        reductions = ["weighted_sum", "weighted_mean", "weighted_sum_over_batch_size", "weighted_sum_by_nonzero_weights"]
        weights = self.pick(1.0, 0.5, self.fed("weights", self.arrays.choice([0.0, 1.0, 2.0], [self.batch, 1]).astype(self.kind)))
        options = {"reduction": self.pick(*reductions), "weights": weights}
        ids = self.fed("labels", self.arrays.randint(0, classes, self.batch))
        each, hot = dict(options, weights=tf.reshape(weights, [-1]) if tf.is_tensor(weights) else weights), tf.one_hot(ids, classes, dtype=x.dtype)
        y = tf.layers.dense(x, classes, name="logits")
        with tf.variable_scope("head"):
            table, bias = tf.get_variable("table", [9, width(x)], x.dtype), tf.get_variable("bias", [9], x.dtype)
        sampling = {"num_sampled": 3, "num_classes": 9, "weights": table, "biases": bias, "labels": ids[:, None], "inputs": x}
        return self.pick(
            lambda: losses.softmax_cross_entropy(hot, y, label_smoothing=self.pick(0, 0.1), **each), lambda: losses.sparse_softmax_cross_entropy(ids, y, **each),
            lambda: losses.sigmoid_cross_entropy(hot, y, **options), lambda: losses.mean_squared_error(hot, y, **options),
            lambda: losses.absolute_difference(hot, y, **options), lambda: losses.huber_loss(hot, y, delta=0.5, **options),
            lambda: losses.log_loss(hot, tf.sigmoid(y), **options), lambda: losses.hinge_loss(hot, y, **options),
            lambda: losses.mean_pairwise_squared_error(hot, y, weights), lambda: losses.cosine_distance(hot, tf.nn.l2_normalize(y, 1), axis=1, **options),
            lambda: tf.reduce_mean(tf.nn.sampled_softmax_loss(seed=5, **sampling)), lambda: tf.reduce_mean(tf.nn.nce_loss(**sampling)),
            lambda: tf.reduce_mean(tf.keras.losses.categorical_crossentropy(hot, tf.nn.softmax(y))), lambda: tf.keras.losses.KLDivergence()(hot, tf.nn.softmax(y)),
            lambda: tf.reduce_mean(tf.nn.weighted_cross_entropy_with_logits(hot, y, 2.0)), lambda: tf.keras.losses.LogCosh()(hot, y),
        )()  # fmt: skip

    def rate(self, step):
        train, rate = self.tf.train, self.pick(0.1, 0.02)
        return self.pick(
            rate, rate, train.exponential_decay(rate, step, 2, 0.5, self.pick(False, True)), train.polynomial_decay(rate, step, 3, 0.01, cycle=True),
            train.piecewise_constant(step, [1, 3], [rate, rate / 2, rate / 4]), train.inverse_time_decay(rate, step, 1, 0.5), train.cosine_decay(rate, step, 4),
            train.natural_exp_decay(rate, step, 2, 0.3), train.cosine_decay_restarts(rate, step, 2), train.linear_cosine_decay(rate, step, 6),
        )  # fmt: skip

    def optimizer(self, rate):
        train, opt, pick = self.tf.train, self.tf.contrib.opt, self.pick
        return pick(
            lambda: train.GradientDescentOptimizer(rate), lambda: train.MomentumOptimizer(rate, 0.9, use_nesterov=pick(False, True)), lambda: train.AdamOptimizer(rate),
            lambda: train.AdamOptimizer(rate, 0.8, 0.99, 1e-3), lambda: train.AdagradOptimizer(rate, 0.2), lambda: train.AdadeltaOptimizer(rate, 0.9),
            lambda: train.RMSPropOptimizer(rate, 0.8, pick(0.0, 0.5), centered=pick(False, True)), lambda: train.FtrlOptimizer(rate, -0.4, 0.2, 0.01, 0.01),
            lambda: train.ProximalAdagradOptimizer(rate, 0.2, 0.01), lambda: train.ProximalGradientDescentOptimizer(rate, 0.01, 0.01),
            lambda: train.AdagradDAOptimizer(rate, train.get_global_step()), lambda: opt.LazyAdamOptimizer(rate), lambda: opt.NadamOptimizer(rate),
            lambda: opt.AdamWOptimizer(0.01, rate), lambda: opt.AdaMaxOptimizer(rate), lambda: opt.AddSignOptimizer(rate), lambda: opt.PowerSignOptimizer(rate),
            lambda: opt.MomentumWOptimizer(0.01, rate, 0.5), lambda: opt.LARSOptimizer(rate), lambda: opt.ShampooOptimizer(train.get_global_step(), learning_rate=rate),
            lambda: opt.VariableClippingOptimizer(train.GradientDescentOptimizer(rate), {v: [0] for v in self.tf.trainable_variables()[:1]}, 1.0),
        )()  # fmt: skip

    def build(self):
        """The loss that is reported, and the operation of one step."""
        tf, pick = self.tf, self.pick
        tf.set_random_seed(self.random.randint(0, 1000))
        if pick(True, False):
            self.training = tf.placeholder_with_default(pick(True, True, False), [], "training")
        reported = self.loss(self.stack())
        penalties = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
        loss = tf.add_n([tf.cast(t, reported.dtype) for t in [reported] + penalties])
        step = tf.train.get_or_create_global_step()
        rate = self.rate(step)
        if pick(*[False] * 5 + [True]):
            return loss, tf.contrib.layers.optimize_loss(loss, step, rate, pick("Adam", "SGD", "RMSProp"), clip_gradients=pick(0.5, 2.0))
        optimizer = self.optimizer(rate)
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            how = {"colocate_gradients_with_ops": pick(False, True), "aggregation_method": pick(0, 2)}
            pairs = optimizer.compute_gradients(loss, gate_gradients=optimizer.GATE_GRAPH, **how)  # else updates and gradients race in 1.15
            pairs = [pair for pair in pairs if pair[0] is not None]
            slopes, variables = zip(*pairs)
            clip = pick(
                lambda: slopes, lambda: slopes, lambda: tf.clip_by_global_norm(slopes, 0.5)[0], lambda: [tf.clip_by_norm(g, 0.3) for g in slopes],
                lambda: [tf.clip_by_value(g, -0.1, 0.1) for g in slopes], lambda: [g for g, _ in tf.contrib.training.clip_gradient_norms(pairs, 0.4)],
            )  # fmt: skip
            train = optimizer.apply_gradients(list(zip(clip(), variables)), step)
        if pick(False, False, True):
            with tf.control_dependencies([train]):
                train = tf.train.ExponentialMovingAverage(0.9, pick(None, step)).apply(variables)
        return loss, train


def outcome(tf, number, moved=0):
    """What a program of this number gives: losses, variables (name, dtype, sizes, sum, sum of squares) and nodes (name, type), or the error."""
    found = {"stage": "build", "layers": [], "losses": []}
    with tf.Graph().as_default() as graph:
        program = Program(tf, number, moved)
        found["layers"] = program.layers
        try:
            loss, train = program.build()
            variables = tf.global_variables()
            start = tf.global_variables_initializer()
            found["nodes"] = [(op.name, op.type) for op in graph.get_operations()]
            found["stage"] = "run"
            with tf.Session() as session:
                session.run(start)
                for _ in range(STEPS):
                    found["losses"].append(float(session.run(loss, program.feed)))
                    session.run(train, program.feed)
                found["losses"].append(float(session.run(loss, program.feed)))
                values = [np.asarray(v, np.float64) for v in session.run(variables)]
                found["variables"] = [(v.name, v.dtype.base_dtype.name, a.shape, a.sum(), (a * a).sum()) for v, a in zip(variables, values)]
        except Exception as e:  # noqa: BLE001 (compared)
            return dict(found, error=(type(e).__name__, str(e)[:400]))
    return found
