"""Training loops that run in TensorFlow 1.15 and here: `SCRIPTS` by name, each a function of (tf, folder).

`observe` runs one and describes what can be seen of it: what it returns, what it logs, nodes, files, events.
"""

import logging
import os
import re


def _train_nodes(tf):
    step = tf.train.get_or_create_global_step()
    weight = tf.Variable(1.0, name="weight")
    tf.Variable(2.0, name="local", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    loss = weight * 3.0
    tf.summary.scalar("loss", loss)
    update = weight.assign_sub(0.25)
    with tf.control_dependencies([update]):
        train = tf.assign_add(step, 1)
    return train, loss, weight


def monitored_training(tf, folder):
    """Hooks of all kinds around five steps."""
    train, _, weight = _train_nodes(tf)
    hooks = [
        tf.train.StopAtStepHook(last_step=5),
        tf.train.LoggingTensorHook({"weight": weight}, every_n_iter=2, at_end=True),
        tf.train.LoggingTensorHook(
            ["weight:0"], every_n_iter=3, formatter=lambda values: "now %g" % values["weight:0"]
        ),
        tf.train.FinalOpsHook(weight),
    ]
    seen = []
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=folder, hooks=hooks, save_checkpoint_steps=2, save_summaries_steps=2, log_step_count_steps=2
    ) as session:
        while not session.should_stop():
            seen.append(int(session.run(train)))
    return seen, float(hooks[-1].final_ops_values)


def recovery(tf, folder):
    """A second session goes on where the first one ended."""
    train, _, weight = _train_nodes(tf)
    for steps in (2, 3):
        hooks = [tf.train.StopAtStepHook(num_steps=steps)]
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=folder, hooks=hooks, log_step_count_steps=None
        ) as session:
            while not session.should_stop():
                session.run(train)
    with tf.train.SingularMonitoredSession(checkpoint_dir=folder) as session:
        return float(session.run(weight)), int(session.run(tf.train.get_global_step()))


def aborted(tf, folder):
    """A session that is aborted is made anew, from the last checkpoint."""
    train, _, _ = _train_nodes(tf)

    class Abort(tf.train.SessionRunHook):
        """Aborts the third run."""

        def __init__(self):
            self.runs, self.sessions = 0, 0

        def after_create_session(self, session, coord):
            self.sessions += 1

        def before_run(self, run_context):
            self.runs += 1
            if self.runs == 3:
                raise tf.errors.AbortedError(None, None, "lost")

    hook = Abort()
    seen = []
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=folder, hooks=[hook], save_checkpoint_steps=1, log_step_count_steps=None
    ) as session:
        for _ in range(4):
            seen.append(int(session.run(train)))
    return seen, hook.runs, hook.sessions


def listeners(tf, folder):
    """The order in which a CheckpointSaverListener is called, and its stop."""
    train, _, _ = _train_nodes(tf)
    calls = []

    class Listener(tf.train.CheckpointSaverListener):
        """Notes its calls; stops after the save of step 4."""

        def begin(self):
            calls.append("begin")

        def before_save(self, session, global_step_value):
            calls.append("before %d" % global_step_value)

        def after_save(self, session, global_step_value):
            calls.append("after %d" % global_step_value)
            return global_step_value >= 4

        def end(self, session, global_step_value):
            calls.append("end %d" % global_step_value)

    hook = tf.train.CheckpointSaverHook(folder, save_steps=2, listeners=[Listener()], saver=tf.train.Saver())
    with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
        while not session.should_stop():
            session.run(train)
    return calls


def feeds_and_step_functions(tf, folder):
    """A FeedFnHook, a step function with and without hooks, and the end of an input."""
    value = tf.placeholder(tf.float32, [])
    double = value * 2.0
    fed = iter([1.0, 2.0, 3.0])

    def feed():
        try:
            return {value: next(fed)}
        except StopIteration:
            raise tf.errors.OutOfRangeError(None, None, "end")

    def step(step_context):
        alone = step_context.session.run(double, {value: 5.0})
        return float(alone), float(step_context.run_with_hooks(double))

    seen = []
    with tf.train.MonitoredSession(hooks=[tf.train.FeedFnHook(feed)]) as session:
        while not session.should_stop():
            seen.append(session.run_step_fn(step))
    return seen


def nan_loss(tf, folder):
    """A loss that is no number stops, with or without an error."""
    loss = tf.constant(float("nan"))
    runs = 0
    hook = tf.train.NanTensorHook(loss, fail_on_nan_loss=False)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        while not session.should_stop():
            session.run(loss)
            runs += 1
    try:
        with tf.train.MonitoredSession(hooks=[tf.train.NanTensorHook(loss)]) as session:
            session.run(loss)
    except RuntimeError as e:
        return runs, type(e).__name__, str(e)


def supervised(tf, folder):
    """A Supervisor without threads of its own: it initializes, saves, restores and writes summaries."""
    train, loss, weight = _train_nodes(tf)
    supervisor = tf.train.Supervisor(logdir=folder, save_model_secs=0, save_summaries_secs=0)
    found = []
    for _ in range(2):
        with supervisor.managed_session(close_summary_writer=False) as session:
            found.append(int(session.run(train)))
            supervisor.summary_computed(session, session.run(supervisor.summary_op))
            supervisor.saver.save(session, supervisor.save_path, global_step=supervisor.global_step)
    supervisor.summary_writer.close()
    return found


def evaluated(tf, folder):
    """Training with tf.contrib.training, then an evaluation of its checkpoint."""
    tf.contrib.training.get_or_create_eval_step()
    inputs = tf.constant([[1.0], [2.0]])
    loss = tf.losses.mean_squared_error(
        inputs * 3.0, tf.layers.dense(inputs, 1, kernel_initializer="zeros", name="fit")
    )
    train = tf.contrib.training.create_train_op(
        loss,
        tf.train.GradientDescentOptimizer(0.1),
        transform_grads_fn=tf.contrib.training.clip_gradient_norms_fn(1.0),
        summarize_gradients=True,
    )
    last = tf.contrib.training.train(
        train, folder, hooks=[tf.train.StopAtStepHook(num_steps=3)], save_summaries_steps=None
    )
    value = tf.contrib.training.evaluate_once(
        tf.train.latest_checkpoint(folder),
        eval_ops=[loss],
        final_ops=loss,
        hooks=[tf.contrib.training.StopAfterNEvalsHook(2)],
    )
    return round(float(last), 5), round(float(value), 5)


def slim_trained(tf, folder):
    """tf.contrib.slim.learning.train with limits and multipliers."""
    slim = tf.contrib.slim
    inputs = tf.constant([[1.0], [2.0]])
    loss = tf.losses.mean_squared_error(
        inputs * 3.0, tf.layers.dense(inputs, 1, kernel_initializer="zeros", name="fit")
    )
    train = slim.learning.create_train_op(
        loss,
        tf.train.GradientDescentOptimizer(0.1),
        clip_gradient_norm=2.0,
        gradient_multipliers={"fit/kernel": 0.5},
        summarize_gradients=True,
    )
    last = slim.learning.train(train, None, number_of_steps=3, log_every_n_steps=0, save_summaries_secs=0)
    return round(float(last), 5)


def _error(call):
    try:
        call()
    except Exception as e:  # noqa: BLE001
        return [type(e).__name__, " ".join(str(e).split())]
    return None


def wrong_arguments(tf, folder):
    """The errors of constructors and of hooks that do not fit."""
    train = tf.train
    x = tf.placeholder(tf.float32, [])
    feed = train.FeedFnHook(lambda: {x: 1.0})

    def run(hooks, feed_dict=None):
        with train.MonitoredSession(hooks=hooks) as session:
            session.run(x, feed_dict)

    def step_function(argument):
        pass

    def run_step_function():
        with train.MonitoredSession() as session:
            session.run_step_fn(step_function)

    def close_twice():
        session = train.MonitoredSession()
        session.close()
        session.close()

    calls = [
        lambda: train.SecondOrStepTimer(),
        lambda: train.SecondOrStepTimer(every_secs=1, every_steps=1),
        lambda: train.LoggingTensorHook(["a"]),
        lambda: train.LoggingTensorHook(["a"], every_n_iter=0),
        lambda: train.StopAtStepHook(),
        lambda: train.StopAtStepHook(num_steps=1, last_step=1),
        lambda: train.StopAtStepHook(num_steps=1).begin(),
        lambda: train.StepCounterHook(every_n_steps=1, every_n_secs=1),
        lambda: train.SummarySaverHook(save_steps=1),
        lambda: train.CheckpointSaverHook(folder, save_steps=1, saver=1, scaffold=1),
        lambda: train.Scaffold(copy_from_scaffold=1),
        lambda: train.SessionManager(ready_for_local_init_op=1),
        lambda: train.SessionManager().prepare_session(""),
        lambda: tf.contrib.training.SummaryAtEndHook(),
        lambda: tf.contrib.training.train(None, None),
        lambda: tf.contrib.training.multiply_gradients({}, {}),
        lambda: tf.contrib.slim.learning.train(None, None),
        lambda: tf.contrib.slim.learning.train(1, None, number_of_steps=0),
        run_step_function,
        close_twice,
        lambda: run([feed, train.FeedFnHook(lambda: {x: 2.0})]),
        lambda: run([feed], {x: 2.0}),
    ]
    return [_without_addresses(_error(call)) for call in calls]


def clusters(tf, folder):
    """ClusterSpec, replica_device_setter and a server of one task."""
    spec = tf.train.ClusterSpec({"ps": ["a:1", "b:2"], "worker": {1: "c:3"}})
    same = tf.train.ClusterSpec(spec.as_cluster_def())
    with tf.device(tf.train.replica_device_setter(cluster=spec)):
        first, second = tf.Variable(1.0, name="first"), tf.Variable(2.0, name="second")
        total = first + second
    errors = [
        lambda: tf.train.ClusterSpec(1),
        lambda: tf.train.ClusterSpec({"a": 1}),
        lambda: spec.num_tasks("x"),
        lambda: spec.task_address("ps", 7),
        lambda: tf.train.Server({"local": ["localhost"]}),
        lambda: tf.train.Server({"local": ["localhost:0"]}, job_name="x"),
        lambda: tf.train.Server({"local": ["localhost:0"]}, task_index=1),
        lambda: tf.train.Server({"a": ["localhost:0"], "b": ["localhost:0"]}),
        lambda: tf.train.Server(3),
    ]
    return [
        str(spec), spec == same, spec.as_dict(), spec.job_tasks("worker"), spec.task_indices("worker"),
        [t.device for t in (first, second, total)], [_error(call) for call in errors],
    ]  # fmt: skip


def server_sessions(tf, folder):
    """Sessions of a server share variables; a reset forgets them."""
    server = tf.train.Server.create_local_server()
    v = tf.Variable(1.0, name="shared")
    with tf.Session(server.target) as one:
        one.run(v.initializer)
        names = [d.name for d in one.list_devices() if d.device_type == "CPU"]
    isolated = tf.Session(server.target, config=tf.ConfigProto(isolate_session_state=True))
    two = tf.Session(server.target)
    found = [float(two.run(v)), _error(lambda: isolated.run(v))[0]]
    tf.Session.reset(server.target)
    return names, found, _error(lambda: two.run(v))[0], _error(lambda: tf.Session(server.target).run(v))[0]


def states_of_sequences(tf, folder):
    """Sequences in segments of two steps: what each run of a batch gets, with the states that the run before saved."""
    words = tf.SparseTensor(
        tf.constant([[0, 1], [2, 0]], tf.int64), tf.constant([5, 6]), tf.constant([3, 2], tf.int64)
    )
    marks = tf.SparseTensor(tf.constant([[1]], tf.int64), tf.constant([7]), tf.constant([4], tf.int64))
    batch = tf.contrib.training.batch_sequences_with_states(
        input_key=tf.constant("key"),
        input_sequences={"numbers": tf.constant([[1.0], [2.0], [3.0]]), "words": words},
        input_context={"label": tf.constant([3, 4]), "marks": marks},
        input_length=None,
        initial_states={"sum": tf.zeros([1])},
        num_unroll=2,
        batch_size=1,
        num_threads=1,
        capacity=1,
        make_keys_unique=True,
        make_keys_unique_seed=9,
    )
    total = batch.state("sum") + tf.reduce_sum(batch.sequences["numbers"], axis=1)
    save = batch.save_state("sum", total)
    fetches = {
        "key": batch.key, "next_key": batch.next_key, "length": batch.length, "total_length": batch.total_length,
        "number": batch.sequence, "label": batch.context["label"], "marks": tf.sparse.to_dense(batch.context["marks"]),
        "words": tf.sparse.to_dense(batch.sequences["words"]), "total": total,
    }  # fmt: skip
    found = []
    with tf.Session() as session:
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        for _ in range(3):
            values, _ = session.run((fetches, save))
            found.append({name: repr(value.tolist()).replace("b'", "'") for name, value in sorted(values.items())})
        coordinator.request_stop()
        coordinator.join(threads)
    return found


SCRIPTS = {
    f.__name__: f
    for f in (
        monitored_training, recovery, aborted, listeners, feeds_and_step_functions, nan_loss, supervised, evaluated,
        slim_trained, wrong_arguments, clusters, server_sessions, states_of_sequences,
    )
}  # fmt: skip


class _Lines(logging.Handler):
    """Keeps log lines."""

    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def _without_addresses(value):
    return [re.sub(r"<[^<>]*>", "<>", v) for v in value] if value else value


def _plain(line, folder):
    """A log line without what differs from run to run; None for notices about TensorFlow's future."""
    if "deprecated" in line or "Instructions for updating" in line or "TensorFlow 2.0" in line:
        return None
    line = re.sub(r"/sec: [\d.]+|\d+\.\d+ sec|\d{4}-\d\d-\d\d[-T][\d:]+Z?", "TIME", line.replace(folder, "FOLDER"))
    return re.sub(r"0x[0-9a-f]+", "ADDRESS", line)


def _source(element):
    """The name of a tensor or node; all that tf.gradients made counts as one."""
    return "gradients" if element.name.startswith("gradients/") else element.name


def _events(tf, folder):
    found = []
    for name in sorted(n for n in os.listdir(folder) if "tfevents" in n):
        for event in tf.train.summary_iterator(os.path.join(folder, name)):
            kind = event.WhichOneof("what")
            about = [v.tag for v in event.summary.value] or (event.session_log.status if kind == "session_log" else 0)
            found.append([int(event.step), kind, about])
    return found


def observe(tf, name, folder):
    """What can be seen of a script: a dict that is the same in every run."""
    lines = _Lines()
    logger = logging.getLogger("tensorflow")
    tf.logging.set_verbosity(tf.logging.INFO)
    logger.addHandler(lines)
    try:
        with tf.Graph().as_default() as graph:
            result = SCRIPTS[name](tf, folder)
            tf.summary.FileWriterCache.clear()
    finally:
        logger.removeHandler(lines)
    nodes = [
        [op.type, op.name, [_source(t) for t in op.inputs], sorted(o.name for o in op.control_inputs)]
        for op in graph.get_operations()
        if _source(op) != "gradients"
    ]
    return {
        "result": result,
        "log": [plain for plain in (_plain(line, folder) for line in lines.lines) if plain is not None],
        "nodes": nodes,
        "files": sorted("events" if "tfevents" in n else n for n in os.listdir(folder)),
        "events": _events(tf, folder),
    }
