"""Queues between threads: waiting, waking, limits, queue runners and their coordinator."""

import threading

import numpy as np
import pytest

import tfcompat as tf
from tfcompat._src.base.run_limits import may_wait
from tfcompat._src.ops.queues import queue_ops, resource


class Call(threading.Thread):
    """A call in a thread of its own; `result` is what it returned or raised."""

    def __init__(self, function):
        super().__init__(daemon=True)
        self.function, self.result, self.begun = function, None, threading.Event()
        self.start()
        self.begun.wait()

    def run(self):
        self.begun.set()
        try:
            self.result = self.function()
        except (tf.errors.OpError, RuntimeError) as e:
            self.result = e

    def ended(self):
        self.join(30)
        assert not self.is_alive()
        return self.result


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


def waiting_queue(session, **options):
    queue = tf.FIFOQueue(2, tf.int32, shapes=[[]], **options)
    session.run(queue.size())
    return queue


def test_a_waiting_dequeue_lets_other_runs_go_on(session):
    queue = waiting_queue(session)
    get, put = queue.dequeue(), queue.enqueue(7)
    waiting = Call(lambda: session.run(get))
    session.run(put)
    assert waiting.ended() == 7


def test_dequeue_many_collects_more_than_the_capacity(session):
    queue = waiting_queue(session)
    many, put = queue.dequeue_many(6), queue.enqueue_many([[1, 2, 3, 4, 5, 6]])
    waiting = Call(lambda: session.run(many))
    session.run(put)
    np.testing.assert_array_equal(waiting.ended(), [1, 2, 3, 4, 5, 6])


def test_closing_the_session_wakes_waiting_threads():
    with tf.Graph().as_default():
        session = tf.Session()
        queue = waiting_queue(session)
        get = queue.dequeue()
        waiting = Call(lambda: session.run(get))
        session.close()
        result = waiting.ended()
    assert isinstance(result, (tf.errors.CancelledError, RuntimeError))


def test_cancelling_pending_enqueues_wakes_them(session):
    queue = waiting_queue(session)
    put, cancel = queue.enqueue_many([[1, 2, 3]]), queue.close(cancel_pending_enqueues=True)
    waiting = Call(lambda: session.run(put))
    session.run(cancel)
    assert isinstance(waiting.ended(), tf.errors.CancelledError)


@pytest.mark.parametrize("limited", ["run", "session"])
def test_time_limit(limited):
    options = tf.RunOptions(timeout_in_ms=20) if limited == "run" else None
    config = tf.ConfigProto(operation_timeout_in_ms=20) if limited == "session" else None
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        queue = tf.FIFOQueue(2, tf.int32, shapes=[[]])
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(queue.dequeue(), options=options)
        session.run(queue.enqueue(3))
        assert session.run(queue.dequeue()) == 3


def test_a_run_that_fills_and_empties_a_queue(session):
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    get = queue.dequeue()
    assert session.run([get, queue.enqueue(5)])[0] == 5


def test_only_what_needs_a_waiting_dequeue_waits(session):
    given = tf.placeholder(tf.string, [])
    queue = tf.FIFOQueue(1, tf.int32, shapes=[()])
    taken = tf.as_string(queue.dequeue(name="take"), name="text")
    put = queue.enqueue(tf.string_to_number(given, tf.int32, name="number"), name="put")
    steps = session.plan([taken, put], {given: b"0"}).steps_apart
    parts = [[item.name for item in step.items] for step in steps]
    assert ["take", "text"] in parts and ["put"] in parts and not any({"take", "number"} <= set(part) for part in parts)
    assert [session.run([taken, put], {given: text}) for text in (b"7", b"8")] == [[b"7", None], [b"8", None]]


def test_a_session_looks_for_a_queue_once(session, monkeypatch):
    queue = tf.FIFOQueue(3, tf.int32, shapes=[()], shared_name="numbers")
    put, size = queue.enqueue(1), queue.size()
    asked, find = [], queue_ops.shared_resource
    monkeypatch.setattr(queue_ops, "shared_resource", lambda context, *rest: asked.append(context.op.name) or find(context, *rest))
    for _ in range(2):
        session.run(put)
    assert asked == [queue.name]
    assert session.run(size) == 2
    with tf.Session(graph=session.graph) as other:
        other.run(put)
        assert other.run(size) == 1


def test_a_queue_that_names_another_one_is_refused_in_each_run(session):
    tf.FIFOQueue(3, tf.int32, shared_name="numbers")
    session.run(tf.FIFOQueue(3, tf.int32, shared_name="numbers").size())
    size = tf.FIFOQueue(4, tf.int32, shared_name="numbers").size()
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError, match="has capacity 3 but requested capacity was 4"):
            session.run(size)


def test_what_reads_variables_before_a_wait_is_one_step_with_its_users(session):
    variables = [tf.Variable(i, use_resource=False) for i in range(3)]
    sums = [tf.ConditionalAccumulator(tf.float32, (), name=f"sum{i}") for i in range(2)]
    applied = [s.apply_grad(1.0, tf.cast(v.read_value(), tf.int64), name=f"apply{i}") for i, (s, v) in enumerate(zip(sums, variables))]
    with tf.control_dependencies(applied):
        stored = variables[2].assign(tf.FIFOQueue(2, tf.int32, shapes=[()]).dequeue(name="take"), name="store")
    parts = [[item.name for item in step.items] for step in session.plan(stored.op).steps_apart]
    assert ["take", "store"] in parts and any({"apply0", "apply1"} <= set(part) for part in parts)


def test_what_gives_to_a_wait_is_not_postponed_with_variables_behind_it(session):
    total = tf.ConditionalAccumulator(tf.float32, ())
    variables = [tf.Variable(0.0, use_resource=False) for _ in range(2)]
    session.run([v.initializer for v in variables])
    ops = [variables[0].assign(total.take_grad(1)).op, tf.assign(variables[1], 3.0).op, total.apply_grad(5.0)]
    session.run(ops, options=tf.RunOptions(timeout_in_ms=20000))
    assert session.run(variables) == [5, 3]


def test_a_failure_comes_before_a_wait(session):
    get = tf.FIFOQueue(1, tf.int32, shapes=[[]]).dequeue()
    x = tf.placeholder(tf.bool, [])
    with pytest.raises(tf.errors.InvalidArgumentError, match="wrong"):
        session.run([get, tf.Assert(x, ["wrong"])], {x: False})


def test_sessions_have_their_own_queues():
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(2, tf.int32, shared_name="shared")
        put, size = queue.enqueue(1), queue.size()
        with tf.Session() as one, tf.Session() as other:
            one.run(put)
            assert (one.run(size), other.run(size)) == (1, 0)


def test_what_is_fed_may_be_changed_afterwards(session):
    queue = tf.FIFOQueue(2, tf.float32, shapes=[[3]])
    x = tf.placeholder(tf.float32, [3])
    put, get = queue.enqueue(x), queue.dequeue()
    values = np.ones(3, np.float32)
    session.run(put, {x: values})
    values[:] = 9
    np.testing.assert_array_equal(session.run(get), [1, 1, 1])


def test_queue_runners_give_every_example_once_per_epoch(session):
    numbers = tf.train.range_input_producer(20, num_epochs=2, shuffle=False).dequeue()
    batch = tf.train.batch([numbers * 2], 8, num_threads=3, capacity=4, allow_smaller_final_batch=True)
    session.run(tf.local_variables_initializer())
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    found = []
    with pytest.raises(tf.errors.OutOfRangeError):
        while True:
            found.extend(session.run(batch).tolist())
    coordinator.request_stop()
    coordinator.join(threads)
    assert sorted(found) == sorted(2 * [2 * i for i in range(20)])


def test_coordinator_raises_what_a_runner_raised(session):
    x = tf.constant([1, 0])
    queue = tf.FIFOQueue(8, tf.int32, shapes=[[]])
    bad = tf.gather(x, tf.placeholder_with_default(5, []))
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(bad)]))
    coordinator = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(session, coordinator)
    assert coordinator.wait_for_stop(30)
    with pytest.raises(tf.errors.InvalidArgumentError):
        coordinator.join(threads)


def test_queue_runners_go_through_a_meta_graph():
    with tf.Graph().as_default():
        tf.train.range_input_producer(3, name="numbers")
        meta_graph = tf.train.export_meta_graph()
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(meta_graph, import_scope="there")
        (runner,) = graph.get_collection(tf.GraphKeys.QUEUE_RUNNERS)
        assert runner.enqueue_ops[0].type == "QueueEnqueueManyV2" and runner.name.startswith("there/")


def test_what_waits_for_a_queue_by_a_constant_reads_variables_after_it(session):
    queue, variable = waiting_queue(session), tf.Variable(0)
    with tf.control_dependencies([queue.dequeue()]):
        later = variable + 0
    assert not later.op.control_inputs, "the sum waits for the constant alone, which waits for the queue"
    write, fill = variable.assign(5), queue.enqueue(1)
    session.run(variable.initializer)
    waiting = Call(lambda: session.run(later))
    session.run(write)
    session.run(fill)
    assert waiting.ended() == 5


@pytest.mark.parametrize("index", [0, 2])
def test_a_queue_chosen_by_a_number_of_the_run(session, index):
    queues = [tf.FIFOQueue(2, tf.int32, shapes=[[]]) for _ in range(3)]
    place = tf.placeholder(tf.int32, [])
    chosen = tf.FIFOQueue.from_list(place, queues)
    session.run(chosen.enqueue(7), {place: index})
    assert [session.run(queue.size()) for queue in queues] == [int(i == index) for i in range(3)]
    assert session.run(chosen.dequeue(), {place: index}) == 7


def test_a_run_that_takes_of_several_accumulators_waits_once(session, monkeypatch):
    accumulators = [tf.ConditionalAccumulator(tf.float32, shape=[2], name=f"a{i}") for i in range(4)]
    gradient = tf.placeholder(tf.float32, [2])
    take = [a.take_grad(1) for a in accumulators]
    give = tf.group(*[a.apply_grad(gradient + i) for i, a in enumerate(accumulators)])
    blocked, is_blocked, wait = [], threading.Event(), resource.SharedResource.wait

    def noted(self, ready, what, *limits):
        if may_wait() and not ready():
            blocked.append(self)
            is_blocked.set()
        wait(self, ready, what, *limits)

    monkeypatch.setattr(resource.SharedResource, "wait", noted)
    waiting = Call(lambda: session.run(take))
    assert is_blocked.wait(30)
    session.run(give, {gradient: [1, 2]})
    np.testing.assert_array_equal(waiting.ended(), [[1, 2], [2, 3], [3, 4], [4, 5]])
    assert [found.name.rpartition("_")[2] for found in blocked] == ["a3"]


def test_an_accumulator_keeps_no_array_of_who_gives(session):
    accumulator = tf.ConditionalAccumulator(tf.float32, shape=[2])
    gradient = tf.placeholder(tf.float32, [2])
    give, take = accumulator.apply_grad(gradient), accumulator.take_grad(1)
    given = np.array([1, 2], np.float32)
    session.run(give, {gradient: given})
    given[:] = 7
    np.testing.assert_array_equal(session.run(take), [1, 2])


def test_a_queue_keeps_no_array_of_who_gives(session):
    queue = tf.FIFOQueue(2, tf.float32, shapes=[[2]])
    fed = tf.placeholder(tf.float32, [2])
    given = np.array([1, 2], np.float32)
    session.run(queue.enqueue(fed), {fed: given})
    given[:] = 7
    np.testing.assert_array_equal(session.run(queue.dequeue()), [1, 2])
