"""Trains, saves and restores in tfcompat and in the real TensorFlow, each with the other's checkpoints and graphs.

`TF1_PYTHON=path/to/python python tests/oracle/checkpoint_interchange.py` runs itself with both programs and compares what
they print: versions 1 and 2, sharded or not, optimizer slots, partitioned, resource, string and bfloat16 variables, a cond and
a loop; restored into a graph built anew, and into the graph of the .meta file.
"""

import os
import subprocess
import sys
import tempfile

KINDS = [(version, sharded) for version in (1, 2) for sharded in (False, True)]


def build(tf):
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    y = tf.placeholder(tf.float32, [None, 1], name="y")
    hidden = tf.layers.dense(x, 8, activation=tf.nn.relu)
    parts = tf.get_variable("parts", [8, 2], partitioner=tf.fixed_size_partitioner(2))
    resource = tf.get_variable("resource", [2, 1], use_resource=True)
    out = tf.matmul(tf.matmul(hidden, parts), resource)
    loss = tf.reduce_mean(tf.square(out - y), name="loss")
    step = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=tf.train.get_or_create_global_step())
    tf.Variable([b"a", b"bc"], name="text")
    tf.Variable(tf.cast(tf.constant([1.5, 2.5]), tf.bfloat16), name="half")
    branch = tf.cond(tf.reduce_sum(x) > 0.0, lambda: loss * 2.0, lambda: loss)
    tf.identity(tf.while_loop(lambda v: v < 100.0, lambda v: v * 2.0 + branch, [loss]), name="grown")
    tf.add_to_collection("step", step)


def variables(tf, version):
    return [v for v in tf.global_variables() if version == 2 or v.op.name != "half"]


def run(command, folder):
    if os.environ.get("PROGRAM") == "tfcompat":
        import tfcompat as tf
    else:
        import tensorflow as tf
    import numpy as np

    generator = np.random.RandomState(0)
    feeds = {"x:0": generator.rand(16, 4), "y:0": generator.rand(16, 1)}
    for version, sharded in KINDS:
        path = os.path.join(folder, "m{}{}".format(version, int(sharded)))
        prefix = path + "-?????-of-00001" if version == 1 and sharded else path
        with tf.Graph().as_default(), tf.Session() as session:
            if command == "meta":
                tf.train.import_meta_graph(path + ".meta").restore(session, prefix)
            else:
                build(tf)
                saver = tf.train.Saver(variables(tf, version), write_version=version, sharded=sharded)
                if command == "restore":
                    saver.restore(session, prefix)
                else:
                    session.run(tf.global_variables_initializer())
                    for _ in range(5):
                        session.run(tf.get_collection("step"), feeds)
                    saver.save(session, path)
            before = session.run("loss:0", feeds)
            session.run(tf.get_collection("step"), feeds)
            after, grown, count = session.run(["loss:0", "grown:0", "global_step:0"], feeds)
            print("{} {} {:.5f} {:.5f} {:.3f} {}".format(version, sharded, before, after, grown, count))


def main():
    pythons = {"tfcompat": sys.executable, "TensorFlow": os.environ["TF1_PYTHON"]}

    def output(program, *arguments):
        environment = dict(os.environ, PROGRAM=program, TF_CPP_MIN_LOG_LEVEL="3")
        return subprocess.check_output(
            [pythons[program], __file__, *arguments], env=environment, stderr=subprocess.DEVNULL, text=True
        )

    failed = 0
    for writer in pythons:
        folder = tempfile.mkdtemp()
        wanted = output(writer, "save", folder)
        for reader in pythons:
            for command in ("restore", "meta"):
                same = output(reader, command, folder) == wanted
                failed += not same
                print(f"{writer} saves, {reader} reads ({command}): {'same' if same else 'DIFFERENT'}")
    return failed


if __name__ == "__main__":
    if sys.argv[1:]:
        run(*sys.argv[1:])
    else:
        sys.exit(main())
