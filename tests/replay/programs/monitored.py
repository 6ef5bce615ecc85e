"""A MonitoredTrainingSession with an exponential decay and moving averages; the last run fails."""
import tensorflow as tf

tf.set_random_seed(11)
rate = tf.train.exponential_decay(0.1, tf.train.get_or_create_global_step(), 2, 0.5)
w = tf.get_variable("w", [3])
limit = tf.placeholder_with_default(10.0, [], name="limit")
loss = tf.reduce_sum(tf.square(w - tf.random_uniform([3], seed=2)), name="loss")
step = tf.train.GradientDescentOptimizer(rate).minimize(loss, tf.train.get_global_step())
average = tf.train.ExponentialMovingAverage(0.9)
with tf.control_dependencies([step, tf.Assert(loss < limit, [loss])]):
    averaged = average.apply([w])
with tf.train.MonitoredTrainingSession() as session:
    for _ in range(3):
        session.run([loss, averaged, rate])
    try:
        session.run(averaged, {limit: -1.0})
    except tf.errors.InvalidArgumentError:
        pass
