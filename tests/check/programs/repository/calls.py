"""Arguments of calls."""

import tensorflow as tf

options = {"anything": 1}
x = tf.zeros([2, 3])
tf.reduce_sum(x, axis=1, keep_dims=True)
tf.reduce_sum(x, reduction_indices=1)
tf.nn.relu(x, nam="a")  #: missing tf.nn.relu(nam=)
tf.nn.relu(x, **options)
tf.layers.Dense(3, no_such_argument_but_kwargs=1)
tf.nn.softmax_cross_entropy_with_logits(x, x)  #: missing tf.nn.softmax_cross_entropy_with_logits(...)
tf.nn.softmax_cross_entropy_with_logits(labels=x, logits=x)
tf.concat(1, [x, x])  #: missing tf.concat(axis, ...)
tf.concat([x, x], 1)
tf.split(0, 2, x)  #: missing tf.split(axis, ...)
tf.contrib.tpu.initialize_system()
tf.contrib.tpu.initialize_system(embedding_config=x)  #: partly tf.contrib.tpu.initialize_system
tf.contrib.cloud.configure_gcs(x)  #: missing tf.contrib.cloud.configure_gcs
