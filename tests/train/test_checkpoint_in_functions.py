"""tf.train.Checkpoint.write inside of a tf.function."""

import tfcompat as tf


def test_a_function_writes_what_variables_are_when_it_is_called(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(1.0, use_resource=True)
        saved, read = tf.train.Checkpoint(v=v), tf.train.Checkpoint(v=tf.Variable(0.0, use_resource=True))

        @tf.function
        def write():
            return saved.write(str(tmp_path / "kept"))

        session.run(v.initializer)
        for value in (1.0, 3.0):
            session.run(v.assign(value))
            assert session.run(write()) == str(tmp_path / "kept").encode()
            session.run(v.assign(0.0))
            read.restore(str(tmp_path / "kept")).run_restore_ops()
            assert session.run(read.v) == value
