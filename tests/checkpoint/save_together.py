"""Saves as often as told, beside others: `save_together.py PREFIX KIND NUMBER COUNT`; waits for a line before it begins.

Both variables hold a number in which the thousands are NUMBER's. KIND is `whole`, `sharded` or `v1`.
"""

import sys

import tfcompat as tf

prefix, kind, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]) * 1000, int(sys.argv[4])
value = tf.placeholder(tf.float32, [])
a, b = tf.get_variable("a", [200_000]), tf.get_variable("b", [])
step = tf.group(a.assign(tf.fill([200_000], value)), b.assign(value))
saver = tf.train.Saver(sharded=kind == "sharded", write_version=1 if kind == "v1" else 2)
with tf.Session() as session:
    session.run(step, {value: first})
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        session.run(step, {value: first + number})
        saver.save(session, prefix, write_meta_graph=False)
        print(first + number, flush=True)
