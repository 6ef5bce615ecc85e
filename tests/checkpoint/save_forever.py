"""Saves again and again, until it is killed: `save_forever.py PREFIX NUMBERED`; both variables hold the number of the save."""

import sys

import tfcompat as tf

prefix, numbered = sys.argv[1], sys.argv[2] == "numbered"
a, b = (
    tf.get_variable("a", [200_000], initializer=tf.zeros_initializer()),
    tf.get_variable("b", [], initializer=tf.zeros_initializer()),
)
step = tf.group(a.assign_add(tf.ones([200_000])), b.assign_add(1.0))
saver = tf.train.Saver(max_to_keep=3)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for number in range(1_000_000):
        session.run(step)
        saver.save(session, prefix, global_step=number if numbered else None, write_meta_graph=False)
        print(number + 1, flush=True)
