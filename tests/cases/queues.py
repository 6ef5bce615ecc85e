"""Queues, staging areas, accumulators, readers and input producers: nodes, values and errors."""

import numpy as np

from cases.table import F32, I32, Table

TABLE = Table("queues")
case, error_case = TABLE.case, TABLE.error_case


def in_turn(*names):
    """A run= that runs what the outputs hold under these names, one after another, and returns the values."""

    def run(tf, session, outputs, feed):
        session.run(tf.local_variables_initializer())
        return [session.run(outputs[name], feed) for name in names]

    return run


def fifo(tf, x):
    q = tf.FIFOQueue(10, [tf.float32, tf.int32], shapes=[[2], []])
    put = q.enqueue_many([x, [1, 2, 3, 4]])
    return {"put": put.name, "one": q.dequeue(), "two": q.dequeue_many(2), "size": q.size(), "closed": q.is_closed()}


case("fifo", fifo, x=F32(4, 2), run=in_turn("size", "put", "size", "one", "two", "size", "closed"))


def closed(tf):
    q = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    return {"put": q.enqueue_many([[1, 2, 3]]).name, "close": q.close().name, "rest": q.dequeue_up_to(5), "is": q.is_closed()}


case("fifo_dequeue_up_to_closed", closed, run=in_turn("put", "close", "rest", "is"))
error_case("fifo_dequeue_closed", closed, run=in_turn("close", "rest"))
error_case("fifo_enqueue_closed", closed, run=in_turn("close", "put"))
error_case("fifo_close_twice", closed, run=in_turn("close", "close"))


def names(tf, x):
    q = tf.FIFOQueue(3, [tf.float32, tf.string], names=["f", "s"], shapes=[[3], []])
    return {"put": q.enqueue({"s": "text", "f": x}).name, "get": q.dequeue()}


case("fifo_names", names, x=F32(3), run=in_turn("put", "get"))


def padding(tf, x):
    q = tf.PaddingFIFOQueue(10, [tf.float32, tf.string], shapes=[[None, 2], [None]])
    return {"a": q.enqueue([x, ["p"]]).name, "b": q.enqueue([x[:1], ["q", "r"]]).name, "get": q.dequeue_many(2)}


case("padding", padding, x=F32(3, 2), run=in_turn("a", "b", "get"))


def priority(tf):
    q = tf.PriorityQueue(10, [tf.string], shapes=[[]])
    put = q.enqueue_many([np.array([3, 1, 2, 1], np.int64), ["c", "a", "b", "d"]])
    return {"put": put.name, "get": q.dequeue(), "rest": q.dequeue_many(3)}


case("priority", priority, run=in_turn("put", "get", "rest"))


def shuffled(tf):
    q = tf.RandomShuffleQueue(100, 3, tf.int32, shapes=[[]], seed=7)
    return {"put": q.enqueue_many([list(range(40))]).name, "many": q.dequeue_many(20), "one": q.dequeue()}


case("random_shuffle", shuffled, run=in_turn("put", "many", "one", "put", "many"))
case("random_shuffle_graph_seed", lambda tf: tf.RandomShuffleQueue(9, 0, tf.int32, shared_name="s").queue_ref, seed=3, fetch=False)


def shared(tf, **other):
    one = tf.FIFOQueue(3, [tf.float32], shapes=[[2]], shared_name="shared")
    made = dict(capacity=3, dtypes=[tf.float32], shapes=[[2]])
    made.update(other)
    return {"one": one.size(), "other": tf.FIFOQueue(shared_name="shared", **made).size()}


for label, other in (("capacity", dict(capacity=4)), ("shapes", dict(shapes=[[3]])), ("types", dict(dtypes=["int32"]))):
    error_case("shared_" + label, lambda tf, other=other: shared(tf, **other), run=in_turn("one", "other"))
error_case("enqueue_shape", lambda tf: tf.FIFOQueue(3, tf.int32, shapes=[[2]]).enqueue([[1, 2, 3]]))
error_case("min_after_dequeue", lambda tf: tf.RandomShuffleQueue(3, 5, tf.int32).size(), run=lambda tf, s, o, f: s.run(o))


def staging(tf, x):
    area = tf.contrib.staging.StagingArea([tf.float32, tf.int32], shapes=[[2], []])
    return {"put": area.put([x, tf.constant(4)]).name, "size": area.size(), "get": area.get(), "clear": area.clear().name}


case("staging", staging, x=F32(2), run=in_turn("put", "put", "size", "get", "clear", "size"))


def accumulator(tf, x):
    a = tf.ConditionalAccumulator(tf.float32, shape=[3])
    return {
        "add": a.apply_grad(x).name, "old": a.apply_grad(x, local_step=-1).name, "count": a.num_accumulated(),
        "take": a.take_grad(2), "next": a.apply_grad(x, local_step=1).name,
    }  # fmt: skip


case("accumulator", accumulator, x=F32(3), run=in_turn("add", "old", "add", "count", "take", "count", "add", "next", "count"))


def sparse_accumulator(tf, x):
    a = tf.SparseConditionalAccumulator(tf.float32, shape=[5, 2])
    more = a.apply_grad([1, 4], x[:2], [5, 2])
    return {"add": a.apply_grad([0, 1, 3], x).name, "more": more.name, "take": a.take_grad(2)}


case("sparse_accumulator", sparse_accumulator, x=F32(3, 2), run=in_turn("add", "more", "take"))


# ---- input pipelines: what the queue runners' operations do, in one thread ----


def producers(make):
    """Runs all enqueue operations a few times, in order, then fetches the outputs."""

    def run(tf, session, outputs, feed):
        session.run(tf.local_variables_initializer())
        for runner in tf.get_collection(tf.GraphKeys.QUEUE_RUNNERS):
            for enqueue in runner.enqueue_ops[:1]:
                session.run(enqueue, feed)
        return session.run(outputs, feed)

    return dict(build=make, run=run, seed=11)


def pipeline(name, make, **inputs):
    options = producers(make)
    case(name, options["build"], run=options["run"], seed=options["seed"], **inputs)


pipeline("string_input_producer", lambda tf: tf.train.string_input_producer(["a", "b", "c"], num_epochs=2).dequeue_many(3))
pipeline("range_input_producer", lambda tf: tf.train.range_input_producer(6, seed=5, name="numbers").dequeue_many(4))
pipeline("slice_input_producer", lambda tf, x: tf.train.slice_input_producer([x, [1, 2, 3]], shuffle=False), x=F32(3, 2))
pipeline("batch_many", lambda tf, x: tf.train.batch({"x": x, "y": x[:, 0]}, 3, enqueue_many=True), x=F32(4, 2))
pipeline("maybe_batch_many", lambda tf, x: tf.train.maybe_batch([x], x[:, 0] > -9.0, 4, enqueue_many=True), x=F32(4, 2))
pipeline("shuffle_batch_many", lambda tf, x: tf.train.shuffle_batch([x], 4, 20, 2, enqueue_many=True, seed=2), x=I32(9, 2))
pipeline("batch_dynamic_pad", lambda tf, x: tf.train.batch([x], 1, dynamic_pad=True, allow_smaller_final_batch=True), x=F32(3))
pipeline("batch_join", lambda tf, x: tf.train.batch_join([[x], [x + 1.0]], 1), x=F32(3))
case("bucket", lambda tf, x: tf.contrib.training.bucket([x], 1, 1, 2), x=F32(3), fetch=False)
error_case("limit_epochs_negative", lambda tf: tf.train.limit_epochs(tf.constant(1), 0))
error_case("input_producer_shape", lambda tf: tf.train.input_producer(tf.placeholder(tf.int32)))
error_case("string_input_producer_empty", lambda tf: tf.train.string_input_producer([]))


def epochs(tf):
    return {"value": tf.train.limit_epochs(tf.constant("again"), 2)}


case("limit_epochs", epochs, run=in_turn("value", "value"))
error_case("limit_epochs_over", epochs, run=in_turn("value", "value", "value"))


# ---- readers ----


def identity_reader(tf):
    q = tf.FIFOQueue(9, tf.string, shapes=[[]])
    reader = tf.IdentityReader()
    return {
        "put": q.enqueue_many([["x", "y"]]).name, "read": reader.read(q), "records": reader.num_records_produced(),
        "work": reader.num_work_units_completed(), "state": reader.serialize_state(), "reset": reader.reset().name,
    }  # fmt: skip


case("identity_reader", identity_reader, run=in_turn("put", "read", "state", "read", "records", "work", "reset", "records"))
error_case("text_line_state", lambda tf: tf.TextLineReader().serialize_state(), run=lambda tf, s, o, f: s.run(o))
case("readers", lambda tf: [r().reader_ref for r in (tf.WholeFileReader, tf.TextLineReader, tf.TFRecordReader)], fetch=False)
error_case("read_file_missing", lambda tf: tf.read_file("no such file"))
case("files", lambda tf: [tf.read_file("a"), tf.matching_files(["a*", "b"]), tf.write_file("a", "b").name], fetch=False)
